#!/bin/sh
# Optimises the program that `measure` runs: ./loop.sh study.toml
# Any number of these loops may run at the same time, on any machines that reach the storage.
study=$1

measure() { # threads=4 buffer=8.0; prints milliseconds
    eval "$*"
    awk -v t="$threads" -v b="$buffer" 'BEGIN { x = log(t / 10); y = log(b / 20)
                                              printf "%.4f\n", 12 + 3 * x * x + y * y }'
}

while asked=$(surefoot ask "$study"); do
    id=${asked%% *}
    if value=$(measure "${asked#* }"); then
        surefoot tell "$study" "$id" "$value" --worker "$(hostname)"
    else
        surefoot tell "$study" "$id" --failed "exit code $?"
    fi
done
surefoot predict "$study" recommended default
