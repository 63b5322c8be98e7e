#!/usr/bin/env bash
# Makes sure that there is a redis-server for the tests: what is on the PATH, or Debian's package where root may install.
# With --required it fails where there is none; without, it says so, and the tests that need it are skipped.
set -euo pipefail

if command -v redis-server > /dev/null; then
  exit 0
fi
if [ "$EUID" = 0 ] && command -v apt-get > /dev/null; then
  echo "Installing redis-server, which the tests of RedisStore run on (once)"
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  # The tests start servers of their own: the package's service stays off.
  if { apt-get update && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends redis-server; } > "$log" 2>&1 \
    && command -v redis-server > /dev/null; then
    exit 0
  fi
  tail -n 5 "$log" >&2
fi
echo "There is no redis-server, and without one the tests of RedisStore on a real Redis are skipped." >&2
echo "On Debian and Ubuntu: sudo apt-get install redis-server" >&2
[ "${1:-}" != --required ]
