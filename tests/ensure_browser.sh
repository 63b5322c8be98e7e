#!/usr/bin/env bash
# Makes sure that there is a Chromium for the tests of pages, and axe-core, which looks at them as a checker of
# accessibility does: what is there already, or Debian's package and npm's.
# With --required it fails where one is missing; without, it says so, and the tests that need it are skipped.
set -euo pipefail

VERSION=4.14.1
AXE=axe-core-$VERSION.tgz
AXE_SHA256=e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745
cache="${XDG_CACHE_HOME:-$HOME/.cache}/agentguard"
missing=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

if ! command -v chromium > /dev/null; then
  if [ "$EUID" = 0 ] && command -v apt-get > /dev/null; then
    echo "Installing chromium, in which the tests of pages look at them (once)"
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium; } > "$log" 2>&1 \
      || tail -n 5 "$log" >&2
  fi
  if ! command -v chromium > /dev/null; then
    echo "There is no chromium, and without one the tests of pages in a browser are skipped." >&2
    echo "On Debian and Ubuntu: sudo apt-get install chromium" >&2
    missing=1
  fi
fi

is_axe() { [ -f "$1" ] && echo "$AXE_SHA256  $1" | sha256sum --check --status; }

if ! is_axe "$cache/$AXE"; then
  if command -v npm > /dev/null; then
    echo "Fetching axe-core, which checks the accessibility of pages (once)"
    folder=$(mktemp -d)
    trap 'rm -rf "$log" "$folder"' EXIT
    if (cd "$folder" && npm pack --silent axe-core@$VERSION) > "$log" 2>&1 && is_axe "$folder/$AXE"; then
      mkdir -p "$cache"
      mv "$folder/$AXE" "$cache/$AXE"
    else
      tail -n 5 "$log" >&2
    fi
  fi
  if ! is_axe "$cache/$AXE"; then
    echo "There is no $cache/$AXE, and without it the tests of accessibility are skipped." >&2
    echo "With npm: npm pack axe-core@$VERSION in that folder" >&2
    missing=1
  fi
fi

[ "${1:-}" != --required ] || [ "$missing" = 0 ]
