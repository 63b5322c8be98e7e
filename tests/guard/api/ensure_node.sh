#!/usr/bin/env bash
# Makes sure that there are Node, TypeScript and the Vercel AI SDK for the tests of examples/typescript: what is on the
# PATH, or Debian's package where root may install; and npm's packages in a folder of the cache.
# With --required it fails where something is missing; without, it says so, and the tests that need it are skipped.
# With --where it only tells what is there: the folder of the packages.
set -euo pipefail

packages=(ai@6.0.326 zod@4.6.7 typescript@7.0.2 @types/node@20.19.43)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/agentguard/typescript-$(echo "${packages[*]}" | sha256sum | cut -c 1-12)

if [ -f "$folder/ready" ] && command -v node > /dev/null; then
  [ "${1:-}" != --where ] || echo "$folder"
  exit 0
fi
[ "${1:-}" != --where ] || exit 1

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! command -v npm > /dev/null && [ "$EUID" = 0 ] && command -v apt-get > /dev/null; then
  echo "Installing Node and npm, on which the examples in TypeScript are run (once)"
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends nodejs npm; } > "$log" 2>&1 \
    || tail -n 5 "$log" >&2
fi
if command -v npm > /dev/null; then
  echo "Fetching TypeScript and the Vercel AI SDK, with which the examples in TypeScript are run (once)"
  rm -rf "$folder"
  mkdir -p "$folder"
  echo '{"private": true, "type": "module"}' > "$folder/package.json"
  if npm install --prefix "$folder" --no-package-lock --ignore-scripts --no-audit --no-fund --save-exact "${packages[@]}" > "$log" 2>&1; then
    touch "$folder/ready"
    exit 0
  fi
  tail -n 5 "$log" >&2
fi
echo "There are no Node packages in $folder, and without them the tests of examples/typescript are skipped." >&2
echo "On Debian and Ubuntu: sudo apt-get install nodejs npm" >&2
[ "${1:-}" != --required ]
