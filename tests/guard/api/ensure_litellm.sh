#!/usr/bin/env bash
# Makes sure that there is a LiteLLM proxy for the tests, in an environment of its own: it wants other versions of what
# the guard is tested with.
# With --required it fails where there is none; without, it says so, and the tests that need it are skipped.
# With --where it only tells what is there: the environment's folder.
set -euo pipefail

version=1.110.2
# The extra of this one asks for litellm-proxy, which pip does not find: the proxy's dependencies are those of the last that can be
# installed by it, with the one that came since.
extra=1.108.7
since=semver
environment=${XDG_CACHE_HOME:-$HOME/.cache}/agentguard/litellm-$version

if [ -f "$environment/ready" ]; then
  [ "${1:-}" != --where ] || echo "$environment"
  exit 0
fi
[ "${1:-}" != --where ] || exit 1

echo "Installing LiteLLM $version, whose proxy is tested with the guard behind it (once, some 750 MB)"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
rm -rf "$environment"
mkdir -p "$(dirname "$environment")"
if { "${PYTHON:-python3}" -m venv "$environment" && "$environment/bin/pip" install -q "litellm[proxy]==$extra" &&
  "$environment/bin/pip" install -q "litellm==$version" "$since"; } > "$log" 2>&1; then
  touch "$environment/ready"
  exit 0
fi
tail -n 5 "$log" >&2
rm -rf "$environment"
echo "There is no LiteLLM in $environment, and without it the tests of its proxy are skipped." >&2
[ "${1:-}" != --required ]
