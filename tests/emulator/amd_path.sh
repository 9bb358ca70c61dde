#!/usr/bin/env bash
# The runner's `amd` path on the emulator: the library under the name of ROCm's runtime,
# found the way ROCm's is. A node with an MI300 meets code that has run; and even so the
# times are a model's.
#   amd_path.sh BIN LIB PACK
# shellcheck source=tests/support/shell.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/shell.sh"
PATH=$1:$PATH
library=$2/libwavefarm_emulator.so
pack=$3
unset WAVEFARM_EMULATOR_DEVICES HIP_VISIBLE_DEVICES

mkdir "$WORK/rocm"
ln -s "$library" "$WORK/rocm/libamdhip64.so.6"
export LD_LIBRARY_PATH=$WORK/rocm

field() { # field JSON-FILE EXPRESSION: of the parsed file `d`
    python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$@"
}

wavefarm devices --json >"$WORK/devices.json" || fail "wavefarm devices"
amd='[x for x in d["devices"] if x["runtime"] == "amd"]'
ours='[x for x in d["devices"] if x["runtime"] == "emulator"]'
equal "emulated devices" "$(field "$WORK/devices.json" "len($ours)")" 2
equal "devices by ROCm's name" "$(field "$WORK/devices.json" "len($amd)")" 2
equal "their library" "$(field "$WORK/devices.json" "${amd}[0]['library']")" libamdhip64.so.6
for runtime in amd ours; do
    devices=${!runtime}
    equal "$runtime: model" "$(field "$WORK/devices.json" "${devices}[1]['model']")" MI300X
    equal "$runtime: arch" "$(field "$WORK/devices.json" "${devices}[1]['arch']")" \
        gfx942:sramecc+:xnack-
    equal "$runtime: CUs and XCDs" \
        "$(field "$WORK/devices.json" "(${devices}[0]['cu_count'], ${devices}[0]['xcc_count'])")" \
        "(304, 8)"
    equal "$runtime: times" "$(field "$WORK/devices.json" "${devices}[0]['times_modelled']")" \
        True
done

cat >"$WORK/small.json" <<'END'
{"schema": "wavefarm.suite/1", "name": "small", "description": "one small product",
 "defaults": {"op": "gemm"}, "cases": [{"name": "a", "M": 128, "N": 128, "K": 64}]}
END
for device in amd:1 emulator:0; do
    wavefarm run --device $device --pack "$pack" --kernels gemm_f16_mfma_128x128_nn --no-measure --json \
        "$WORK/small.json" >"$WORK/result.json" 2>"$WORK/err" ||
        fail "wavefarm run --device $device: $(cat "$WORK/err")"
    equal "$device: answer" "$(field "$WORK/result.json" 'd[0]["answer"]')" PASS
    equal "$device: time" "$(field "$WORK/result.json" 'd[0]["time"]')" MODELLED
    field "$WORK/result.json" 'd[0]["details"]["output_digest"]' >>"$WORK/digests"
done
equal "digests" "$(sort -u "$WORK/digests" | wc -l)" 1

# Nonsense in its variables: no device, and why.
export WAVEFARM_EMULATOR_DEVICES=none
expect 0 "WAVEFARM_EMULATOR_DEVICES" wavefarm devices
expect 0 "emulator: no device" wavefarm devices
