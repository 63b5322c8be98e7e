#!/usr/bin/env bash
# Makes sure that there is an Elasticsearch server for the tests: Maven fetches its smallest distribution into a cache
# beside the checkout's, where the tests find it; Java 17 or newer runs it. Where root may install, Debian's packages
# give what is missing of the two.
# With --required it fails where there is none; without, it says so, and the tests that need it are skipped.
# With --where it only tells what is there: the server's folder and Java's, a line each.
set -euo pipefail

version=8.19.21
artifact=org.elasticsearch.distribution.integ-test-zip:elasticsearch:$version:zip

# Elasticsearch refuses to run as root, and whoever it runs as then has to get at the files.
if [ "$EUID" = 0 ]; then cache=/var/cache/agentguard; else cache=${XDG_CACHE_HOME:-$HOME/.cache}/agentguard; fi
server=$cache/elasticsearch-$version

find_java() {
  local home found
  for home in "${JAVA_HOME:-}" "$(command -v java > /dev/null && dirname "$(dirname "$(readlink -f "$(command -v java)")")")" \
    /usr/lib/jvm/*; do
    if [ -n "$home" ] && [ -x "$home/bin/java" ]; then
      found=$("$home/bin/java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')
      if [ "${found:-0}" -ge 17 ]; then
        echo "$home"
        return
      fi
    fi
  done
  return 1
}

fetch() {
  log=$(mktemp)
  unpacked=$(mktemp -d "$cache/unpacking.XXXXXX")
  trap 'rm -rf "$log" "$unpacked"' EXIT
  echo "Fetching Elasticsearch $version, which the tests of ElasticsearchEvidence and ElasticsearchRecords run on (once)"
  if mvn -B -C dependency:get dependency:copy -Dartifact="$artifact" -Dtransitive=false \
    -DoutputDirectory="$unpacked" > "$log" 2>&1 \
    && python3 -m zipfile -e "$unpacked/elasticsearch-$version.zip" "$unpacked" > "$log" 2>&1; then
    chmod +x "$unpacked/elasticsearch-$version/bin/"*
    chmod -R a+rX "$unpacked/elasticsearch-$version"
    mv -T "$unpacked/elasticsearch-$version" "$server" || [ -d "$server" ] # somebody else was quicker
  else
    grep ERROR "$log" | head -n 5 >&2 || tail -n 5 "$log" >&2
    return 1
  fi
}

if [ "${1:-}" = --where ]; then
  [ -d "$server" ] && java=$(find_java) && printf '%s\n' "$server" "$java"
  exit
fi
if ! { find_java > /dev/null && { [ -d "$server" ] || command -v mvn > /dev/null; }; } \
  && [ "$EUID" = 0 ] && command -v apt-get > /dev/null; then
  echo "Installing Maven and Java, which the tests fetch and run Elasticsearch with (once)"
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends maven default-jdk-headless; } \
    > /dev/null 2>&1 || echo "apt-get could not install them" >&2
fi
if find_java > /dev/null; then
  mkdir -p "$cache"
  if [ -d "$server" ] || { command -v mvn > /dev/null && fetch; }; then
    exit 0
  fi
fi
echo "There is no Elasticsearch, and without one the tests on a real one are skipped. They need Java 17 or newer" >&2
echo "(JAVA_HOME, java on the PATH, or /usr/lib/jvm), and Maven, which fetches $artifact." >&2
echo "On Debian and Ubuntu: sudo apt-get install default-jdk-headless maven" >&2
[ "${1:-}" != --required ]
