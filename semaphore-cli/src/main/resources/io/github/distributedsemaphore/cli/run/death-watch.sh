# Reads orders from the process that runs the command. At "kill", and if the orders end without "dismiss" because that
# process has died, the command and all it started are frozen, so that nothing new comes up while they are counted, and
# killed.
# $1: the variable that has the mark in the environment of every process of this run, among those of runs around and inside it
# $2: the mark
trap '' HUP INT QUIT TERM TSTP TTIN TTOU PIPE
mark="$1=[0-9a-f -]*$2"
pid=
starting=
frozen=
grown=

children() {
    if [ -e "/proc/$1/task" ]; then
        cat "/proc/$1"/task/*/children 2>/dev/null
    else
        ps -A -o pid= -o ppid= 2>/dev/null | awk -v parent="$1" '$2 == parent { print $1 }'
    fi
}

marked() {
    if [ -e /proc/self/environ ]; then
        LC_ALL=C grep -ls "$mark" /proc/[0-9]*/environ | sed 's:^/proc/\([0-9]*\)/.*:\1:'
    fi
}

freeze() {
    case " $frozen " in
        *" $1 "*) return ;;
    esac
    kill -s STOP "$1" 2>/dev/null || return
    frozen="$frozen $1"
    grown=yes
}

runs() {
    if [ -e /proc/self/status ]; then
        grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$1/status"
    else
        case $(ps -o stat= -p "$1" 2>/dev/null) in Z* | '') return 1 ;; esac
    fi
}

# We have the locks of the slots, if any: the command may start.
echo ready
exec >/dev/null

while read -r order value; do
    case $order in
        starting) starting=yes ;;
        watch) pid=$value ;;
        signal) kill -s "$value" "$pid" 2>/dev/null ;;
        dismiss) exit 0 ;;
        kill)
            pid=$value
            starting=
            break
            ;;
    esac
done

# Killed while it started the command: what is on its way does not bear the mark yet.
[ -z "$starting" ] || [ -n "$pid" ] || sleep 1

for process in $pid; do freeze "$process"; done
while :; do
    grown=
    for process in $(marked); do freeze "$process"; done
    for parent in $frozen; do
        for process in $(children "$parent"); do freeze "$process"; done
    done
    [ -n "$grown" ] || break
done
[ -z "$frozen" ] || kill -s KILL $frozen
# Killed is not yet gone, and until it is the locks are ours.
for process in $frozen; do
    while runs "$process"; do sleep 0.01 2>/dev/null || sleep 1; done
done
