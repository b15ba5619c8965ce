#!/usr/bin/env bash
# Runs the tests in each of the ways in which they may be started, and prints one line for each: with interrupts
# ignored (as under nohup), in two locales and another time zone, without a home, with processes that all start from
# nothing, in a checkout called `signet` beside a toolset of a common name, and as a user who is not root.
#   scripts/ways.sh [arguments of pytest]      for example: scripts/ways.sh tests/transports -x
set -uo pipefail
cd "$(dirname "$0")/.."

python=.venv/bin/python
parallel=(-n "${JOBS:-auto}" --maxprocesses 4 --dist loadfile)
logs=build/ways
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$logs"
failed=0

# way NAME COMMAND…: run a command, keep what it prints, print the name and its last line.
way() {
  local name=$1 log=$logs/$1.log
  shift
  if "$@" >"$log" 2>&1; then
    printf '%-12s ok      %s\n' "$name" "$(tail -n 1 "$log")"
  else
    printf '%-12s FAILED  %s (all of it: %s)\n' "$name" "$(tail -n 1 "$log")" "$log"
    failed=1
  fi
}

tests() { "$python" -m pytest -q "${parallel[@]}" "$@"; }

without_interrupts() (
  trap '' INT
  tests "$@"
)

# Everything in it is one byte a character, so that text is not UTF-8 unless somebody says so.
in_latin_1() (
  if ! localedef -i de_DE -f ISO-8859-1 "$scratch/de_DE.ISO-8859-1" 2>/dev/null; then
    echo "localedef cannot make a locale of ISO-8859-1 here"
    return 1
  fi
  export LOCPATH=$scratch LC_ALL=de_DE.ISO-8859-1 TZ=Asia/Tokyo
  tests "$@"
)

# A path below a file cannot be made, not even by root.
without_home() { HOME=/dev/null/home tests "$@"; }

# copy_to FOLDER: make a copy of the checkout whose environment leads to the copy.
copy_to() {
  mkdir "$1"
  tar -c --exclude=./build/ways --exclude='./.coverage*' --exclude=./.hypothesis --exclude=./runs . | tar -x -C "$1"
  grep -rlIF "$PWD" "$1/.venv/bin" "$1"/.venv/lib/python*/site-packages/*.pth | xargs sed -i "s|$PWD|$1|g"
}

# In a folder that is called as the program is, on a terminal of an odd size, where a module and an installed toolset
# have a name that tests would use too.
beside_a_toolset() (
  local copy=$scratch/signet beside=$scratch/beside
  copy_to "$copy"
  mkdir -p "$beside/sums-1.0.dist-info"
  printf 'Metadata-Version: 2.1\nName: sums\nVersion: 1.0\n' >"$beside/sums-1.0.dist-info/METADATA"
  printf '[signet.toolsets]\nsums = sums:toolset\n' >"$beside/sums-1.0.dist-info/entry_points.txt"
  cat >"$beside/sums.py" <<'END'
import signet


@signet.tool(example={"a": 1})
def plus(a: int, b: int = 0) -> int:
    """Add two integers, of which the second may be left out."""
    return a + b


toolset = signet.Toolset(name="sums", tools=[plus])
END
  cd "$copy" || return 1
  export COLUMNS=57 LINES=11 PYTHONPATH=$beside
  tests "$@"
)

# A copy of the checkout that belongs to nobody, with an environment whose Python nobody may run.
as_nobody() (
  local copy=$scratch/checkout version
  copy_to "$copy"
  chmod 755 "$scratch"
  chown -R nobody:nogroup "$copy"
  cd "$copy" || return 1
  # Python itself may lie where only root can read, below /root for example.
  if ! unprivileged "$python" -c '' 2>/dev/null; then
    version=$(sed -n 's/^version.* = \([0-9]*\.[0-9]*\).*/\1/p' .venv/pyvenv.cfg)
    for name in python python3 "python$version"; do
      ln -sfn "/usr/bin/python$version" ".venv/bin/$name"
    done
    sed -i 's|^home = .*|home = /usr/bin|' .venv/pyvenv.cfg
  fi
  export HOME=/nonexistent
  unprivileged scripts/install_tools.sh && unprivileged "$python" -m pytest -q "${parallel[@]}" "$@"
)

# By way of a shell, since setpriv starts its command with root's rights still in force.
unprivileged() { setpriv --reuid=nobody --regid=nogroup --clear-groups sh -c 'exec "$0" "$@"' "$@"; }

way interrupts without_interrupts "$@"
way locale-C env LC_ALL=C "$python" -m pytest -q "${parallel[@]}" "$@"
way latin-1 in_latin_1 "$@"
way no-home without_home "$@"
way beside beside_a_toolset "$@"
way fresh env FRESH_PROCESSES=1 "$python" -m pytest -q "${parallel[@]}" "$@"
if [ "$(id -u)" -eq 0 ]; then
  way nobody as_nobody "$@"
else
  echo "nobody       ok      all of the above ran as $(id -un), who is not root"
fi
exit $failed
