# Runs in the lab's machine. Takes numbers on standard input, runs N.sh of the scratch folder, says `N STATUS`.
scratch=$1
root=$2
echo ready
while read -r number; do
    chroot "$root" timeout -s KILL 240 sh "$scratch/$number.sh" </dev/null \
        >"$scratch/$number.out" 2>"$scratch/$number.err"
    echo "$number $?"
done
