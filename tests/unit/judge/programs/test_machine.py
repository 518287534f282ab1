"""The machine itself: processes, services, disks, users, terminals, and wrappers."""

from __future__ import annotations

import pytest

from redoma.model.decision import Risk
from tests.unit.judge.judged import risk

SAFE, MODERATE, ELEVATED = Risk.SAFE, Risk.MODERATE, Risk.ELEVATED
DANGEROUS, FORBIDDEN = Risk.DANGEROUS, Risk.FORBIDDEN

PROCESSES = [
    ("kill -0 991", SAFE),
    ("kill -l", SAFE),
    ("kill 991", ELEVATED),
    ("kill -TERM -- -991", ELEVATED),
    ("kill -KILL -1", FORBIDDEN),
    ("kill -9 1", FORBIDDEN),
    ("pkill -f 'vite dev'", ELEVATED),
    ("pkill -9 '.*'", FORBIDDEN),
    ("pkill -u app", FORBIDDEN),
    ("killall zsh", FORBIDDEN),
    ("pkill redoma", FORBIDDEN),
    ("fuser 8080/tcp", SAFE),
    ("fuser -k 8080/tcp", ELEVATED),
    ("gdb ./server core", MODERATE),
    ("gdb -p 991", DANGEROUS),
    ("gdb -nx -ex '!rm -rf ~' -ex quit", FORBIDDEN),
]
SERVICES = [
    ("systemctl status app.service", SAFE),
    ("systemctl list-timers --all", SAFE),
    ("systemctl restart app", ELEVATED),
    ("systemctl stop app", DANGEROUS),
    ("systemctl enable app", FORBIDDEN),
    ("systemctl reboot", FORBIDDEN),
    ("service app status", SAFE),
    ("service app restart", ELEVATED),
    ("journalctl -u app --since today", SAFE),
    ("journalctl --vacuum-size=10M", DANGEROUS),
    ("dmesg --follow", SAFE),
    ("dmesg --clear", DANGEROUS),
    ("crontab -l", SAFE),
    ("echo '@daily x' | crontab -", FORBIDDEN),
    ("echo make | at noon", DANGEROUS),
    ("shutdown +5", FORBIDDEN),
    ("telinit 1", FORBIDDEN),
]
SETTINGS = [
    ("sysctl vm.overcommit_memory", SAFE),
    ("sysctl vm.overcommit_memory=1", DANGEROUS),
    ("date +%F", SAFE),
    ("date --set tomorrow", DANGEROUS),
    ("ip -j addr", SAFE),
    ("ip l set wlan0 down", DANGEROUS),
    ("ip netns exec lab rm -rf /", FORBIDDEN),
    ("ifconfig wlan0", SAFE),
    ("ifconfig wlan0 down", DANGEROUS),
    ("iptables -t nat -S", SAFE),
    ("iptables -P INPUT ACCEPT", DANGEROUS),
    ("ufw status verbose", SAFE),
    ("ufw reset", DANGEROUS),
    ("mount", SAFE),
    ("mount /dev/sdb1 /mnt", DANGEROUS),
    ("modinfo nf_tables", SAFE),
    ("modprobe nf_tables", DANGEROUS),
    ("usermod -aG wheel app", DANGEROUS),
    ("passwd -S app", SAFE),
    ("passwd app", DANGEROUS),
    ("setenforce 0", DANGEROUS),
    ("timedatectl status", SAFE),
    ("timedatectl set-ntp false", DANGEROUS),
]
DISKS = [
    ("lsblk -f", SAFE),
    ("fdisk -l /dev/sdb", SAFE),
    ("fdisk /dev/sdb", FORBIDDEN),
    ("sgdisk --print /dev/sdb", SAFE),
    ("sgdisk --print --zap-all /dev/sdb", FORBIDDEN),
    ("wipefs --all /dev/sdb", FORBIDDEN),
    ("hdparm -I /dev/sdb", SAFE),
    ("hdparm -I --security-erase x /dev/sdb", FORBIDDEN),
    ("zfs list -t snapshot", SAFE),
    ("zfs destroy pool/data", FORBIDDEN),
    ("cryptsetup luksDump /dev/sdb", SAFE),
    ("cryptsetup erase /dev/sdb", FORBIDDEN),
    ("lvremove vg0/data", FORBIDDEN),
]
TERMINALS = [
    ("tmux list-panes -a", SAFE),
    ("tmux new-session -d -s work", MODERATE),
    ("tmux send-keys -t work 'rm -rf ~' Enter", FORBIDDEN),
    ("tmux split-window -h 'rm -rf ~'", FORBIDDEN),
    ("tmux bind-key X run-shell 'rm -rf ~'", FORBIDDEN),
    ("tmux kill-session -t work", ELEVATED),
    ("screen -ls", SAFE),
    ("screen -S work -X stuff 'rm -rf ~\\n'", FORBIDDEN),
    ("script -qc 'rm -rf ~' /dev/null", FORBIDDEN),
    ("script -q /dev/null ls", SAFE),
    ("expect -c 'spawn rm -rf /'", FORBIDDEN),
]
REPEATING = [
    ("watch -n 2 df -h", SAFE),
    ("watch rm -rf /", FORBIDDEN),
    ("parallel wc -l ::: a.txt b.txt", SAFE),
    ("parallel rm -rf {} ::: out /", FORBIDDEN),
    ("parallel ::: 'rm -rf ~'", FORBIDDEN),
    ("echo 'rm -rf ~' | parallel", FORBIDDEN),
    ("ls *.py | entr -c pytest", MODERATE),
    ("ls *.py | entr -s 'rm -rf ~'", FORBIDDEN),
]
WRAPPERS = [
    "ionice -c 3",
    "taskset 0x3",
    "chrt -b 0",
    "setsid --fork",
    "stdbuf -o L",
    "unbuffer -p",
    "setarch x86_64 -R",
    "setarch -R",
    "linux64",
    "/usr/bin/time -f %e",
    "chroot /srv/jail",
    "unshare --map-root-user",
    "nsenter -t 1 -m",
    "systemd-run --scope",
    "firejail --private",
    "bwrap --ro-bind / / --proc /proc",
    "dbus-run-session --",
    "flock -n /tmp/lock",
    "prlimit --nofile=64",
    "cpulimit -l 20 --",
    "faketime -f @2020-01-01",
    "setpriv --reuid 0",
    "runuser -u app --",
    "strace -f -o t.log",
    "ltrace -c",
    "perf stat -d",
    "numactl -l",
    "rlwrap -A",
    "busybox",
    "toybox",
    "caffeinate -t 60",
    "gosu app",
    "xvfb-run -a",
]


@pytest.mark.parametrize(
    ("command", "expected"),
    [*PROCESSES, *SERVICES, *SETTINGS, *DISKS, *TERMINALS, *REPEATING],
)
def test_each_form_has_its_level(command: str, expected: Risk) -> None:
    assert risk(command) is expected


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_wrapper_hides_nothing(wrapper: str) -> None:
    assert risk(f"{wrapper} rm -rf /") is FORBIDDEN


@pytest.mark.parametrize(
    "wrapper",
    ["ionice -c 3", "taskset 1", "stdbuf -oL", "nocache", "setsid", "prlimit -n=64", "busybox"],
)
def test_a_wrapper_adds_nothing_to_a_harmless_command(wrapper: str) -> None:
    assert risk(f"{wrapper} ls -la") is SAFE
