"""Everyday operations, each a script that prints what it sees; run bare and run in an overlay."""

from __future__ import annotations

_PY = "python3 -I -S - <<'EOF'\n{}\nEOF"


def _python(code: str) -> str:
    return _PY.format(code)


OPERATIONS: dict[str, str] = {
    "rm -rf of a directory": "rm -rf src/sub && ls src",
    "edit in place": "sed -i 's/line 3/LINE THREE/' src/file-1.txt && grep -n THREE src/file-1.txt",
    "append": "echo more >> src/file-2.txt && tail -1 src/file-2.txt",
    "rename a file": "mv src/file-1.txt renamed.txt && cat renamed.txt",
    "rename a directory": "mv src/sub moved && ls moved",
    "rename over another": "mv src/file-1.txt src/file-2.txt && cat src/file-2.txt",
    "symbolic links": "ln -s src link && ln -sfn README current && readlink link current && cat link/file-3.txt",
    "hard link": "ln src/file-1.txt hard && echo x >> hard && tail -1 src/file-1.txt && stat -c %h hard",
    "hard link of a new file": "echo n > one && ln one two && echo m >> two && cat one",
    "chmod": "chmod 700 src/run.sh && chmod -R o-rwx src/sub && stat -c '%a %n' src/run.sh src/sub/*",
    "git init and commit": "git init -q . && git add -A && git -c user.name=a -c user.email=a@b"
    " -c gc.auto=0 commit -qm first && git ls-files | wc -l && rm -rf .git",
    "git branch, merge and stash": "git init -q r && cd r && export GIT_AUTHOR_DATE=2000-01-01T00:00:00Z GIT_COMMITTER_DATE=2000-01-01T00:00:00Z"
    " && git config user.name a && git config user.email a@b && echo 1 > f && git add f && git commit -qm 1"
    " && git checkout -qb b && echo 2 > f && git commit -qam 2 && git checkout -q - && git merge -q b"
    " && echo 3 > f && git stash -q && cat f && git log --oneline && cd .. && rm -rf r",
    "sqlite": _python(
        "import sqlite3\n"
        "db = sqlite3.connect('data.db')\n"
        "db.execute('pragma journal_mode=delete')\n"
        "db.execute('create table t(a)')\n"
        "db.executemany('insert into t values(?)', [(i,) for i in range(500)])\n"
        "db.commit()\n"
        "db.execute('delete from t where a % 2')\n"
        "db.commit()\n"
        "print(db.execute('select count(*), sum(a) from t').fetchone())"
    ),
    "sqlite with a write-ahead log": _python(
        "import sqlite3\n"
        "db = sqlite3.connect('wal.db')\n"
        "print(db.execute('pragma journal_mode=wal').fetchone())\n"
        "db.execute('create table t(a)')\n"
        "with db: db.executemany('insert into t values(?)', [(i,) for i in range(500)])\n"
        "other = sqlite3.connect('wal.db')\n"
        "print(other.execute('select count(*) from t').fetchone())\n"
        "other.close(); db.close()"
    ),
    "tar round trip": "tar cf all.tar --mtime=@0 src && rm -rf src && tar xf all.tar && cat src/file-5.txt && rm all.tar",
    "write through a mapping": _python(
        "import mmap\n"
        "with open('src/file-1.txt', 'r+b') as f:\n"
        "    m = mmap.mmap(f.fileno(), 0); m[0:4] = b'MMAP'; m.flush(); m.close()\n"
        "print(open('src/file-1.txt').readline())"
    ),
    "truncate": "truncate -s 5 src/file-1.txt && : > src/file-2.txt && cat src/file-1.txt src/file-2.txt",
    "touch -d": "touch -d @86400 src/file-1.txt src && stat -c '%Y %n' src/file-1.txt src",
    "300 new files": "mkdir many && for i in $(seq 300); do echo $i > many/$i; done && ls many | wc -l",
    "copy a tree": "cp -a src copy && diff -r src copy && ls -R copy | wc -l",
    "find and delete": "find src -name '*.txt' -delete && find src | sort",
    "overwrite in the middle": "printf MIDDLE | dd of=src/file-3.txt bs=1 seek=10 conv=notrunc 2>/dev/null && cat src/file-3.txt",
    "a deep new path": "mkdir -p a/b/c/d/e/f && echo deep > a/b/c/d/e/f/g && cat a/b/c/d/e/f/g",
    "a directory becomes a file": "rm -r src/sub && echo now > src/sub && cat src/sub",
    "a file becomes a directory": "rm README && mkdir README && echo in > README/x && ls README",
    "a directory is made anew": "rm -r src/sub && mkdir src/sub && echo new > src/sub/new && ls src/sub",
    "sort in place": "sort -r -o src/file-4.txt src/file-4.txt && head -1 src/file-4.txt",
    "patch": "printf -- '--- a/README\\n+++ b/README\\n@@ -1 +1 @@\\n-read me\\n+read this\\n' > p"
    " && git apply p && cat README",
    "compress and expand": "gzip -n src/file-5.txt && ls src && gunzip src/file-5.txt.gz && cat src/file-5.txt",
    "compile": "python3 -m compileall -q src && ls src/__pycache__ | wc -l && rm -r src/__pycache__",
    "a pipe with a name": "mkfifo pipe && (echo through > pipe &) && cat pipe && rm pipe",
    "a socket with a name": _python(
        "import os, socket\n"
        "s = socket.socket(socket.AF_UNIX); s.bind('sock'); s.listen()\n"
        "c = socket.socket(socket.AF_UNIX); c.connect('sock'); c.send(b'hello')\n"
        "print(s.accept()[0].recv(9)); os.unlink('sock')"
    ),
    "locks": _python(
        "import fcntl\n"
        "a, b = open('src/file-1.txt', 'a'), open('src/file-1.txt', 'a')\n"
        "fcntl.flock(a, fcntl.LOCK_EX)\n"
        "try: fcntl.flock(b, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        "except BlockingIOError: print('locked')"
    ),
    "extended attributes": _python(
        "import os\n"
        "os.setxattr('README', 'user.k', b'v'); print(os.getxattr('README', 'user.k'))\n"
        "os.removexattr('README', 'user.k'); print(os.listxattr('README'))"
    ),
    "written after its name is gone": _python(
        "import os\n"
        "f = open('src/file-1.txt', 'r+'); os.unlink('src/file-1.txt'); f.write('x'); f.seek(0)\n"
        "print(f.read(1), os.path.exists('src/file-1.txt'))"
    ),
    "replaced by a temporary file": _python(
        "import os, tempfile\n"
        "fd, name = tempfile.mkstemp(dir='.'); os.write(fd, b'whole'); os.fsync(fd)\n"
        "os.fchmod(fd, 0o644); os.replace(name, 'README'); print(open('README').read())"
    ),
    "a file without a name": _python(
        "import os\n"
        "fd = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o644); os.write(fd, b'named later')\n"
        "os.link(f'/proc/self/fd/{fd}', 'named', follow_symlinks=True); print(open('named').read())"
    ),
    "two names exchanged": "mv src/file-1.txt t && mv src/file-2.txt src/file-1.txt && mv t src/file-2.txt"
    " && cat src/file-1.txt src/file-2.txt",
    "holes": "truncate -s 10M sparse && printf x | dd of=sparse bs=1 seek=5M conv=notrunc 2>/dev/null"
    " && sha256sum sparse",
    "names that are no text": _python(
        "import os\n"
        "for n in (b'a\\nb', b'\\xff', b' x '): open(n, 'w').close()\n"
        "print(sorted(os.listdir(b'.')))"
    ),
    "20 MB": "head -c 20M /dev/zero | tr '\\0' x > big && sha256sum big && cp big big2 && cmp big big2 && rm big big2",
    "new directories are renamed": _python(
        "import os\n"
        "os.mkdir('n'); open('n/x', 'w').close(); os.rename('n', 'm'); print(os.listdir('m'))"
    ),
}  # fmt: skip

# What the kernel's overlay does otherwise for everybody but root: told, never hidden.
GAPS: dict[str, str] = {
    "rename(2) of a directory of the workspace": _python("import os\nos.rename('src/sub', 'm')"),
    "one inode for a new hard link": _python(
        "import os\nos.link('README', 'h'); print(os.stat('README').st_ino == os.stat('h').st_ino)"
    ),
}
