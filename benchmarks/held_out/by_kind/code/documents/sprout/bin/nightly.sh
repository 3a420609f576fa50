#!/bin/sh
# Waters all trays. Started by cron at ten past three.
set -eu
: "${SPROUT_HOST:=localhost}"     # machine that the valves hang on
: "${SPROUT_LITRES:=55}"          # upper bound for one night
sprout water --host "$SPROUT_HOST" --at-most "$SPROUT_LITRES" --retries 3
