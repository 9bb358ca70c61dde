#!/bin/sh
# Runs the program on a 256 KiB tmpfs in a mount namespace of its own.
set -eu
program=$1
folder=$(mktemp -d)
trap 'rmdir "$folder"' EXIT
inside="mount -t tmpfs -o size=256k tmpfs '$folder' && '$program' '$folder'"
if [ "$(id -u)" = 0 ]; then
    unshare -m true 2>/dev/null || { echo "no mount namespaces here: skipped"; exit 77; }
    unshare -m sh -c "$inside"
else
    unshare -rm true 2>/dev/null || { echo "no user namespaces here: skipped"; exit 77; }
    unshare -rm sh -c "$inside"
fi
