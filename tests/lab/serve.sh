# Runs in the lab's machine. Reads a number N from standard input, runs N.sh of the scratch folder, prints `N STATUS`.
scratch=$1
root=$2
echo ready
while read -r number; do
    chroot "$root" timeout -s KILL 240 sh "$scratch/$number.sh" </dev/null \
        >"$scratch/$number.out" 2>"$scratch/$number.err"
    echo "$number $?"
done
