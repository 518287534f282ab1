"""A small script that tells, from inside a sandbox, what holds there, and who reads its answers."""

from __future__ import annotations

from redoma.model.grant import Guarantee

# Shell builtins alone, as far as they go: the sandbox may hold very little.
SCRIPT = r"""
: > inside-probe && echo workspace-writable; rm -f inside-probe
for place in /usr /etc /; do
    (: > "$place/redoma-probe") 2>/dev/null && echo "wrote $place"
done
[ -r /etc/shadow ] && echo "reads /etc/shadow"
for place in "$HOME"/.ssh "$HOME"/.aws "$HOME"/.config "$HOME"/.netrc /root/.ssh; do
    [ -e "$place" ] && echo "reads $place"
done
while read -r key value rest; do
    case $key in
        Seccomp:|NoNewPrivs:|CapEff:|CapBnd:) echo "$key $value" ;;
    esac
done < /proc/self/status
count=0
for entry in /proc/[0-9]*; do count=$((count + 1)); done
echo "processes $count"
while read -r name rest; do
    case $name in *:*) echo "interface ${name%%:*}" ;; esac
done < /proc/net/dev
echo done
"""
# Held of every tree that is supervised; those that are capped where there is a control group.
LIMITS = frozenset(
    {
        Guarantee.MEMORY_CAPPED,
        Guarantee.MEMORY_WATCHED,
        Guarantee.CPU_CAPPED,
        Guarantee.CPU_WATCHED,
        Guarantee.PROCESSES_CAPPED,
        Guarantee.DISK_CAPPED,
        Guarantee.DISK_WATCHED,
    }
)


def held_inside(text: str) -> frozenset[Guarantee]:
    """The guarantees that the script's answers show."""
    lines = text.splitlines()
    if "done" not in lines or "workspace-writable" not in lines:
        return frozenset()
    held = {
        Guarantee.PROTECTED_PATHS,
        Guarantee.TREE_KILLED,
        *LIMITS,
    }
    if not any(line.startswith("wrote ") for line in lines):
        held.add(Guarantee.WRITES_CONFINED)
    if not any(line.startswith("reads ") for line in lines):
        held.add(Guarantee.READS_CONFINED)
    if "Seccomp: 2" in lines:
        held.add(Guarantee.SYSCALLS_FILTERED)
    if "NoNewPrivs: 1" in lines and "CapEff: 0000000000000000" in lines:
        held.add(Guarantee.NO_NEW_PRIVILEGES)
    if any(line == f"processes {n}" for line in lines for n in range(1, 8)):
        held.add(Guarantee.PROCESSES_HIDDEN)
    if [line for line in lines if line.startswith("interface ")] == ["interface lo"]:
        held.add(Guarantee.NETWORK_CLOSED)
    return frozenset(held)
