"""Any text that comes back from JSON as it went in."""

from hypothesis import strategies as st


def json_texts(max_size: int | None = None) -> st.SearchStrategy[str]:
    """Lone surrogates too, but no two halves of a pair: these JSON makes one character of, as UTF-16 does."""
    return st.text(st.characters(exclude_categories=()), max_size=max_size).map(
        lambda text: text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    )
