#!/usr/bin/env bash
# Runs podman on the images of build_image.sh: `scripts/podman.sh run --rm signet --version`. It also works on a machine
# without systemd, and in a container that may not raise its limits.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
source "$here/scripts/packages.sh"

store=$(realpath "${IMAGE_STORE:-$here/build/image}")
engine=(podman --root "$store/storage" --runroot "$store/run" --storage-driver vfs --runtime runc
  --cgroup-manager cgroupfs --events-backend file)
most=16384 # of files and of processes, where this shell may have so many

at_most() { if [ "$1" = unlimited ] || [ "$1" -gt "$most" ]; then echo "$most"; else echo "$1"; fi; }

limits=()
if [ "${1:-}" = run ] || [ "${1:-}" = create ]; then
  files=$(at_most "$(ulimit -Hn)")
  processes=$(at_most "$(ulimit -Hu)")
  limits=(--ulimit "nofile=$files:$files" --ulimit "nproc=$processes:$processes")
fi
as_root env DISABLE_HC_SYSTEMD=true "${engine[@]}" "$1" "${limits[@]}" "${@:2}"
