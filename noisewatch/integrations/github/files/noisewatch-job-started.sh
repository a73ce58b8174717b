#!/bin/bash
# GitHub's job-started hook; the runner starts it with `bash -e`. Any status other than 0 fails the job before its
# first step.
options="" jobs="*" on_unknown=fail at_most=600
# shellcheck source=/dev/null
. "${0%/*}/noisewatch-settings"
set -f # the shell must not expand patterns to file names

is_wanted() {
    local pattern
    for pattern in $jobs; do
        # shellcheck disable=SC2254
        case ${GITHUB_JOB:-} in $pattern) return 0 ;; esac
    done
    return 1
}

if ! is_wanted; then
    echo "noisewatch: not judged, as '${GITHUB_JOB:-}' matches no pattern in jobs=\"$jobs\""
    exit 0
fi
cd / # not the workspace: files of an earlier job there could shadow Python's modules
status=0
[ "$on_unknown" != run ] || on_unknown=pass
# shellcheck disable=SC2086 # split into words
timeout -k 5 "$at_most" @noisewatch@ preflight --no-config --format github --on-unknown "$on_unknown" $options || status=$?
case $status in
    0) ;;
    1 | 3 | 4) echo "noisewatch: the job does not start, as the machine is not known to be quiet" && exit 1 ;;
    124) echo "::error title=noisewatch::no verdict after $at_most s (at_most), so the job does not start" && exit 1 ;;
    *) echo "::error title=noisewatch::noisewatch failed (status $status), so the job does not start" && exit 1 ;;
esac
