// A table that scrolls can be scrolled by keyboard too: the theme wraps tables after the page is there.
new MutationObserver(() => {
  for (const wrapped of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) {
    wrapped.tabIndex = 0;
  }
}).observe(document.documentElement, { childList: true, subtree: true });
