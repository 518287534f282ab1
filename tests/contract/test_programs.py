"""Ordinary programs do their work under the list of allowed system calls."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma.pipeline.sandbox import Sandbox
from tests.contract.machine import usable
from tests.tidy import remove

pytestmark = pytest.mark.both_users

# All engines load the same filter; Landlock adds one of its own that takes more away.
ENGINE = "bubblewrap"
PROFILE = """
level: programs
workspace: direct
home: nothing
network: closed
syscalls: usual
limits:
  processes: 256
  open_files: 1024
  total_written: 1000M
  temporary: 256M
  wall_seconds: 120
  output: 1M
"""

PYTHON = r"""
import asyncio, ctypes, mmap, multiprocessing, os, select, signal, socket, sqlite3, subprocess
import tempfile, threading, time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import shared_memory

def double(x): return 2 * x

async def talk():
    async def answer(reader, writer):
        writer.write((await reader.readline()).upper()); await writer.drain(); writer.close()
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"hello\n")
    said = await reader.readline(); server.close()
    process = await asyncio.create_subprocess_exec("echo", "sub", stdout=-1)
    return said, (await process.communicate())[0]

if __name__ == "__main__":
    for way in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(way).Pool(2) as pool:
            assert pool.map(double, range(4)) == [0, 2, 4, 6], way
    with ProcessPoolExecutor(2) as pool: assert list(pool.map(double, [1])) == [2]
    with ThreadPoolExecutor(4) as pool: assert sum(pool.map(double, range(9))) == 72
    assert asyncio.run(talk()) == (b"HELLO\n", b"sub\n")
    shared = shared_memory.SharedMemory(create=True, size=4096); shared.close(); shared.unlink()
    queue = multiprocessing.Queue(); queue.put(1); assert queue.get() == 1
    mapped = mmap.mmap(-1, 1 << 16); mapped[:2] = b"ab"; mapped.flush(); mapped.close()
    assert subprocess.run(["true"], start_new_session=True).returncode == 0
    left, right = socket.socketpair(); left.send(b"x"); assert right.recv(1) == b"x"
    epoll = select.epoll(); epoll.register(left); epoll.close()
    signal.setitimer(signal.ITIMER_REAL, 0.01); signal.signal(signal.SIGALRM, lambda *_: None)
    time.sleep(0.02); os.sched_setaffinity(0, os.sched_getaffinity(0)); os.nice(1)
    with tempfile.TemporaryFile() as f: f.write(b"x"); f.flush(); os.fsync(f.fileno())
    os.close(os.pidfd_open(os.getpid())); os.close(os.eventfd(0)); os.close(os.memfd_create("m"))
    open("a", "w").write("abc"); os.copy_file_range(os.open("a", 0), os.open("b", 65, 420), 3)
    os.setxattr("a", "user.x", b"1"); os.utime("a", (1, 1)); os.chmod("a", 0o600)
    print("fine")
"""

C = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *work(void *x) { return x; }
int main(void) {
    pthread_t t; if (pthread_create(&t, 0, work, 0) || pthread_join(t, 0)) return 1;
    int status; if (fork() == 0) _exit(7); wait(&status);
    if (WEXITSTATUS(status) != 7 || system("true")) return 2;
    FILE *p = popen("echo fine", "r"); char line[9]; fgets(line, 9, p); pclose(p);
    fputs(line, stdout); return 0;
}
"""

NODE = r"""
const { Worker, isMainThread, parentPort } = require("worker_threads");
const http = require("http"), fs = require("fs"), zlib = require("zlib");
if (!isMainThread) { parentPort.postMessage(1); return; }
const { execFileSync, fork } = require("child_process");
if (process.argv[2] === "child") { process.send("hi"); return; }
const watcher = fs.watch(".", () => {}); watcher.close();
fs.writeFileSync("n", zlib.gzipSync("x")); fs.copyFileSync("n", "m"); fs.rmSync("m");
if (execFileSync("echo", ["x"]).toString() !== "x\n") process.exit(1);
new Worker(__filename).on("message", () => fork(__filename, ["child"]).on("message", () => {
  const server = http.createServer((_, answer) => answer.end("fine")).listen(0, "127.0.0.1", () =>
    http.get({ port: server.address().port, host: "127.0.0.1" }, (answer) => {
      answer.on("data", (data) => console.log(String(data))); answer.on("end", () => server.close());
    }));
}));
"""

JAVA = r"""
import java.nio.file.*; import java.util.stream.*;
public class Fine {
    public static void main(String[] given) throws Exception {
        Files.writeString(Path.of("j"), "x");
        long sum = IntStream.range(0, 1000).parallel().asLongStream().sum();
        Process p = new ProcessBuilder("echo", "x").start();
        System.out.println(sum == 499500 && p.waitFor() == 0 ? "fine" : "not");
    }
}
"""

PERL = r"""
use strict; use Socket; use IPC::Open3; use File::Temp qw(tempfile);
socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die;
my $pid = fork // die; if (!$pid) { syswrite $b, "fine\n"; exit 0 } waitpid $pid, 0;
my ($fh) = tempfile(DIR => "."); flock $fh, 2 or die; sysread $a, my $line, 5; print $line;
"""

# What it needs, the files that are there, and a command that ends by printing `fine`.
PROGRAMS: dict[str, tuple[str, dict[str, str], str]] = {
    "bash": ("bash", {}, r"""bash -c 'set -e; trap "echo x" USR1; kill -USR1 $$; exec 3<> <(echo p);
        read -u 3 line; coproc cat; echo co >&"${COPROC[1]}"; read -u "${COPROC[0]}" line
        mkfifo pipe; (echo through > pipe) & read line < pipe; wait $!; ulimit -n 64; umask 077
        diff <(seq 3) <(seq 3); exec -a named echo fine'"""),
    "coreutils": ("timeout", {"a": "x\n"}, """set -e; cp -a a b; mv b c; ln c d; ln -s d e; touch -d 2001-01-01 c
        chmod 700 c; install -m 755 a f; timeout 5 nice -n 1 stdbuf -o0 cat a; split -n 2 a; sort -R a
        shuf a; truncate -s 1M big; dd if=/dev/zero of=z bs=4k count=4 conv=fsync; df . ; stat -f .
        sync; mktemp -d; find . -newer c; du -s .; xargs -P 4 -n 1 echo < a; ps; kill -0 $$; echo fine"""),
    "git": ("git", {}, """set -e; mkdir r; cd r; git init -q .; git config user.email a@b; git config user.name n
        echo 1 > a; git add a; git commit -qm 1; git checkout -qb x; echo 2 > a; git commit -qam 2
        git checkout -q -; git merge -q x; git stash list; git gc -q; git clone -q . ../copy; git worktree add -q ../tree
        git log --oneline | cat; git fsck; git archive HEAD | tar t; echo fine"""),
    "python": ("python3", {"p.py": PYTHON}, "python3 p.py"),
    "gcc and make": ("gcc", {"c.c": C, "Makefile": "c: c.c\n\tgcc -O1 -pthread -o c c.c\n"}, "make -j2 c >&2 && ./c"),
    "node": ("node", {"n.js": NODE}, "node n.js"),
    "npm": ("npm", {"package.json": '{"name":"x","version":"1.0.0","scripts":{"t":"echo fine"}}'},
            "npm run -s t && npm pack -s >&2 && npm install -s --offline ./x-1.0.0.tgz --prefix other >&2; npm run -s t"),
    "java": ("java", {"Fine.java": JAVA}, "if command -v javac >&2; then javac Fine.java && java -XX:+UseNUMA Fine; else java -version && echo fine; fi"),
    "sqlite": ("sqlite3", {}, """sqlite3 a.db 'pragma journal_mode=wal; create table t(x); insert into t values(1);
        vacuum; select "fine"'"""),
    "tar and compressors": ("tar", {"a": "x\n"}, """set -e; tar --xattrs -czf a.tgz a; tar -xzf a.tgz; tar -cJf a.txz a; xz -T2 -k a
        gzip -k a; bzip2 -k a || true; tar -cf - a | tar -xf - --to-stdout; echo fine"""),
    "rsync": ("rsync", {"a": "x\n"}, "rsync -a --inplace a b && echo fine"),
    "curl": ("curl", {"a": "fine\n"}, """python3 -m http.server --bind 127.0.0.1 8765 >&2 & server=$!
        curl -s --retry 40 --retry-connrefused --retry-delay 0 --retry-max-time 20 http://127.0.0.1:8765/a; kill $server"""),
    "perl": ("perl", {"p.pl": PERL}, "perl p.pl"),
    "ruby": ("ruby", {}, "ruby -e 'Process.wait(fork { exit 0 }); Thread.new { }.join; puts `echo fine`'"),
    "php": ("php", {}, "php -r 'echo `echo fine`;'"),
    "go": ("go", {"m.go": 'package main\nimport "fmt"\nfunc main() { fmt.Println("fine") }\n'},
           "GOCACHE=$PWD/.cache GOFLAGS=-mod=mod go run m.go"),
    "rust": ("rustc", {"m.rs": 'fn main() { std::thread::spawn(|| println!("fine")).join().unwrap() }'},
             "rustc -o m m.rs && ./m"),
    "java in a server's shape": ("java", {}, "java -XX:+UseSerialGC -version && echo fine"),
    "ssh tools": ("ssh-keygen", {}, "ssh-keygen -q -t ed25519 -N '' -f key && echo fine"),
    "openssl": ("openssl", {}, "openssl genrsa -out k 2048 && openssl rand -hex 4 && echo fine"),
    "gdb and strace say no plainly": ("strace", {}, "strace true; test $? -ne 0 && echo fine"),
}  # fmt: skip


@pytest.fixture
def place() -> Iterator[Path]:
    base = Path(tempfile.mkdtemp(prefix="rdm-", dir="/var/tmp"))
    base.chmod(0o755)
    (base / "work").mkdir()
    (base / "programs.yaml").write_text(PROFILE)
    yield base
    remove(base)


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_works_in_a_sandbox(name: str, place: Path) -> None:
    usable(ENGINE)
    needs, files, command = PROGRAMS[name]
    if shutil.which(needs, path="/usr/local/bin:/usr/bin:/bin") is None:
        pytest.skip(f"there is no {needs} here")
    for file, text in files.items():
        (place / "work" / file).write_text(text)
    sandbox = Sandbox(
        str(place / "work"),
        level=str(place / "programs.yaml"),
        engine=ENGINE,
        policy="isolation-only",
    )
    result = sandbox.run(command)
    last = result.stdout.decode(errors="replace").split("\n")[-2:][0]
    assert last == "fine", (result.outcome, result.stdout[-500:], result.stderr[-2000:])
