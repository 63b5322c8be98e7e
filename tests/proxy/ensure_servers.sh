#!/usr/bin/env bash
# Makes sure that there are MCP servers and clients of others for the tests of `agentguard proxy`: reference servers, the
# SDK for TypeScript and the conformance suite from npm with a Node that runs them, and the SDK for Python of version 2
# with servers on it from PyPI, in an environment of its own. They lie in a cache beside the checkout's.
# With --required it fails where they are missing; without, it says so, and the tests that need them are skipped.
# With --where it only tells where they are.
set -euo pipefail

NPM=(
  @modelcontextprotocol/client@2.4.0
  @modelcontextprotocol/conformance@0.1.16
  @modelcontextprotocol/sdk@1.32.2
  @modelcontextprotocol/server-everything@2026.8.31
  @modelcontextprotocol/server-filesystem@2026.8.31
  @modelcontextprotocol/server-memory@2026.8.31
  node@22.23.3
)
PYPI=(mcp==2.3.0 mcp-server-fetch==2026.10.24 mcp-server-time==2026.10.19)

versions=$(printf '%s\n' "${NPM[@]}" "${PYPI[@]}" | sha256sum | cut -c1-12)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/agentguard/mcp-$versions

if [ "${1:-}" = --where ]; then
  [ -e "$folder/complete" ] && echo "$folder"
  exit
fi
[ -e "$folder/complete" ] && exit 0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if command -v npm > /dev/null; then
  echo "Fetching MCP servers and clients, which the tests of agentguard proxy run with (once)"
  rm -rf "$folder" && mkdir -p "$folder"
  if (
    cd "$folder"
    echo '{"private": true}' > package.json
    npm install --no-audit --no-fund --no-package-lock --ignore-scripts=false "${NPM[@]}" \
      && ./node_modules/.bin/node --version \
      && "${PYTHON:-python3}" -m venv python \
      && ./python/bin/python -m pip install --quiet --disable-pip-version-check "${PYPI[@]}"
  ) > "$log" 2>&1; then
    touch "$folder/complete"
    exit 0
  fi
  tail -n 5 "$log" >&2
fi
echo "There are no MCP servers and clients of others, and the tests of agentguard proxy with them are skipped." >&2
echo "They need npm, and what it fetches." >&2
[ "${1:-}" != --required ]
