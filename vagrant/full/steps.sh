# Sourced by other scripts.  Output of steps goes to $folder/log, their times in seconds to $timings.

# step NAME COMMAND...: run it and print its time.
step() {
    local what=$1 began=$EPOCHREALTIME code
    shift
    printf '== %s\n' "$what" >>"$folder/log"
    set +e # `|| code=$?` would switch the command's own set -e off
    (set -e; "$@") >>"$folder/log" 2>&1 </dev/null
    code=$?
    set -e
    awk -v b="$began" -v e="$EPOCHREALTIME" -v w="$what" \
        'BEGIN { printf "%s\t%.1f\n", w, e - b }' | tee -a "$timings" | expand -t 32
    return "$code"
}
