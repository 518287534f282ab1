"""A labelled set: texts with a secret and the secret, and texts without one.

All of it is made here, from a seed: what is redacted, and what is left alone, is measured on it.
"""

from __future__ import annotations

import base64
from random import Random
from typing import NamedTuple

from tests.unit.vault.tokens import (
    ALNUM,
    BASE64,
    DIGITS,
    HEX,
    LOWER,
    PARTS,
    URLSAFE,
    private_key,
    run,
    token,
    uuid,
)


class Secret(NamedTuple):
    """A text, and what must not be left of it."""

    kind: str
    text: str
    secrets: tuple[str, ...]


# No carrier has a name that tells: the token is known by its looks alone.
CARRIERS = (
    "using {} for the upload",
    '{{"level": "info", "value": "{}"}}',
    "curl -s 'https://example.org/v1/items?q={}&page=2'",
    "2026-03-04T05:06:07Z worker[12]: got '{}'.",
    '{{"log": "first line\\n{}\\nlast line"}}',
    "\x1b[32m{}\x1b[0m",
    "x={}; ./deploy --to production",
)
# Where a name tells; each has a place for the value.
BY_NAME = (
    "export DB_PASSWORD={}",
    "PGPASSWORD={} psql -h db -U app",
    "docker run -e MYSQL_ROOT_PASSWORD={} mysql:8",
    "mysql -u root --password={} app",
    "psql --password {} -h db",
    '{{"user": "ana", "password": "{}"}}',
    '{{\\"user\\": \\"ana\\", \\"password\\": \\"{}\\"}}',
    "password: {}",
    "  db_passwd: '{}'  # production",
    "spring.datasource.password={}",
    "Server=db;User Id=sa;Password={};Encrypt=true",
    "curl -d 'user=ana&password={}&next=/' https://example.org/login",
    "config.password = '{}'",
    "machine example.org login ana password {}",
    "PASSPHRASE='{}' gpg --batch --decrypt x.gpg",
    "senha: {}",
    'dbPassword = "{}"',
    "kubectl create secret generic db --from-literal=password={}",
    "ansible-playbook site.yml -e 'ansible_become_password={}'",
    "ALTER USER app WITH PASSWORD '{}';",
    "CREATE USER 'app'@'%' IDENTIFIED BY '{}';",
)
BY_NAME_TOKEN = (
    "export API_TOKEN={}",
    "AWS_SECRET_ACCESS_KEY={} aws s3 ls",
    "aws_secret_access_key = {}",
    '"client_secret": "{}",',
    "X-Api-Key: {}",
    "curl -H 'X-Auth-Token: {}' https://example.org",
    "PRIVATE-TOKEN: {}",
    "tool login --token {}",
    "tool login --api-key={}",
    "MISTRAL_API_KEY={}",
    "apiKey: '{}'",
    "API key: {}",
    "https://example.org/feed?access_token={}&n=1",
    "//registry.example.org/:_authToken={}",
    "secret_key_base: {}",
    'let accessToken = "{}";',
    "DISCORD_TOKEN={}",
    "AccountKey={};EndpointSuffix=core.example.net",
    "COHERE_API_KEY: {}",
    "ENCRYPTION_KEY={}",
)
AROUND = (
    "curl -H 'Authorization: Bearer {}' https://example.org",
    "Authorization: Basic {}",
    "authorization: token {}",
    "Proxy-Authorization: Basic {}",
    '{{"headers": {{"Authorization": "Bearer {}"}}}}',
    "> Cookie: session={}; theme=dark",
    "< Set-Cookie: sid={}; Path=/; HttpOnly",
    "git clone https://ana:{}@git.example.org/a/b.git",
    "git clone https://{}@git.example.org/a/b.git",
    "DATABASE=postgres://app:{}@db.example.org:5432/app",
    "redis://:{}@cache:6379/0",
    "mongodb+srv://app:{}@cluster0.example.net/?w=majority",
    "amqp://app:{}@mq:5672/",
    "app:{}@tcp(db:3306)/app",
    "sshpass -p {} ssh root@host",
    "sshpass -p '{}' scp a b:",
    "mysql -u root -p{} app",
    "mysqldump -h db -u root -p'{}' app",
    "curl -u ana:{} https://example.org",
    "curl -s --user ana:{} https://example.org",
    "redis-cli -h cache -a {} ping",
    "docker login -u ana -p {} registry.example.org",
    "openssl rsa -in a.pem -passin pass:{}",
    "smbclient //server/share -U ana%{}",
    "ldapsearch -x -D cn=admin -w {} -b dc=example",
    "zip -P {} out.zip a b",
    "7z a -p{} out.7z a",
    "echo 'ana:{}' | sudo chpasswd",
    "htpasswd -b users ana {}",
    "https://acct.blob.example.net/c/b?sv=2024&sig={}",
    "https://bucket.example.net/k?X-Amz-Signature={}",
    "https://hooks.slack.com/services/{}",
    "https://discord.com/api/webhooks/123456789012345678/{}",
    "root:$6$saltsalt${}:19000:0:99999:7:::",
)
KEY_TITLES = (
    "PRIVATE KEY",
    "RSA PRIVATE KEY",
    "EC PRIVATE KEY",
    "DSA PRIVATE KEY",
    "OPENSSH PRIVATE KEY",
    "ENCRYPTED PRIVATE KEY",
    "PGP PRIVATE KEY BLOCK",
)


def passwords(random: Random) -> str:
    """Passwords as people and generators make them."""
    return random.choice(
        (
            lambda: "hunter" + run(random, DIGITS, 2),
            lambda: run(random, LOWER, 5).title() + run(random, DIGITS, 4) + "!",
            lambda: run(random, ALNUM, 20),
            lambda: "-".join(run(random, LOWER, 5) for _ in range(4)),
            lambda: run(random, ALNUM + "_%^*.-+", 16) + "x",
        )
    )()


def positives(seed: int = 7) -> list[Secret]:
    """Texts that hold a secret."""
    random = Random(seed)
    made: list[Secret] = []
    for kind in (*PARTS, "jwt"):
        for carrier in random.sample(CARRIERS, 4):
            value = token(random, kind)
            made.append(Secret(kind, carrier.format(value), (value,)))
    for carrier in BY_NAME:
        for _ in range(3):
            value = passwords(random)
            made.append(Secret("password by name", carrier.format(value), (value,)))
    for carrier in BY_NAME_TOKEN:
        for length in (24, 40):
            value = run(random, ALNUM, length - 1) + "7"
            made.append(Secret("token by name", carrier.format(value), (value,)))
        value = uuid(random)
        made.append(Secret("token by name", carrier.format(value), (value,)))
    for carrier in AROUND:
        for _ in range(2):
            value = run(random, ALNUM, 31) + "9"
            made.append(Secret("by what is around it", carrier.format(value), (value,)))
    for title in KEY_TITLES:
        block, body = private_key(random, title)
        logged = "\n".join(f"2026-03-04 05:06:07 out: {line}" for line in block.split("\n"))
        for text in (
            block,
            f"before\n{block}\nafter",
            f'KEY="{block}"\n',
            "key: |\n  " + block.replace("\n", "\n  "),
            '{"key": "' + block.replace("\n", "\\n") + '"}',
            block.replace("\n", "\r\n"),
            logged,
        ):
            made.append(Secret("private key", text, tuple(body)))
    return made


WORDS = (
    "build test lint deploy config server client request response index module package version cache "
    "worker queue table column session user admin login token key secret password pass auth author "
    "monkey keyboard tokenizer bypass compass passage secretary authority keyframe passthrough"
).split()
COMMANDS = (
    "git status --short",
    "git commit -m 'add password reset page'",
    "git log --oneline -n 20 --grep=token",
    "ls -la /etc/passwd /etc/ssl/private",
    "grep -rn 'api_key' src --include=*.py",
    "cat ~/.ssh/id_ed25519.pub",
    "ssh-keygen -t ed25519 -f ~/.ssh/deploy_key",
    "export PATH=$HOME/bin:$PATH",
    "export API_KEY=$(pass show api/key)",
    'export TOKEN="$GITHUB_TOKEN"',
    "PASSWORD=${PASSWORD:?not set} ./run.sh",
    "docker run -e DB_PASSWORD -e API_TOKEN=$API_TOKEN app",
    "mysql -u root -p app < dump.sql",
    "psql -h localhost -U postgres -c 'select 1'",
    'curl -H "Authorization: Bearer $TOKEN" https://example.org',
    'curl -u "$USER:$PASS" https://example.org',
    "curl -u ana https://example.org",
    "kubectl get secret db -o yaml",
    "kubectl create secret generic db --from-file=./password.txt",
    "aws secretsmanager get-secret-value --secret-id prod/db",
    "vault kv get secret/app",
    "gh auth token",
    "gh auth login --with-token < token.txt",
    "read -s -p 'Password: ' PASSWORD",
    'read -rp "Enter token: " TOKEN',
    "sudo passwd ana",
    "openssl rand -base64 32",
    "npm config set //registry.example.org/:_authToken ${NPM_TOKEN}",
    "terraform apply -var 'db_password=${var.db_password}'",
    "find . -name '*.key' -print",
    "PWD=/home/ana/project OLDPWD=/home/ana",
    "gpg --passphrase-file ~/.gpg-pass --decrypt x.gpg",
    "ssh -i ~/.ssh/id_rsa -o PasswordAuthentication=no host",
    "postgres://localhost:5432/app",
    "https://user@example.org/path",
    "git remote add origin git@github.com:a/b.git",
    "rsync -a user@host:/srv/data/ ./data/",
    "echo 'me ALL=(ALL) NOPASSWD: ALL' | sudo tee /etc/sudoers.d/me",
    "password_file=/run/secrets/db_password",
    "ansible-vault view --vault-password-file .vault_pass secrets.yml",
    "sort --key=2 -t: /etc/passwd",
    "xdotool key ctrl+alt+t",
    "redis-cli get session:token:count",
)
LINES = (
    "max_tokens: 4096",
    '"usage": {"input_tokens": 1234, "output_tokens": 567, "total_tokens": 1801}',
    "password: must be at least 8 characters",
    "Password: ",
    "Password authentication failed for user ana",
    "passwd: files systemd",
    "passwd: password updated successfully",
    "PASS: test_login_with_password",
    "ok 12 - token is refreshed when it expires",
    "def login(user: str, password: str) -> Token:",
    "password = getpass.getpass('Password: ')",
    "token = request.headers.get('Authorization')",
    "api_key = os.environ['API_KEY']",
    "const token = process.env.TOKEN;",
    "this.password = password;",
    "  password: string;",
    "password=args.password,",
    "secretName: app-tls",
    "secretKeyRef:",
    "  key: password",
    "PRIMARY KEY (id)",
    "cache_key = f'{user}:{page}'",
    "error: invalid token '}' at line 3",
    "SyntaxError: Unexpected token < in JSON at position 0",
    "Cookie: none",
    "bearer token is missing",
    "Authorization: required for this endpoint",
    "token_type: bearer",
    "password: ********",
    "password: [REDACTED]",
    "API_KEY=<your key>",
    "API_KEY=your-api-key",
    "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}",
    "PasswordAuthentication no",
    "KeyError: 'token'",
    "tokens per second: 38.2",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJx0v9Yz3m4R5nq8tq0S5dPz2Zb1o7c9e2f4g6h8i0j2 ana@laptop",
    "-----BEGIN CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----",
    "grep -q -- '-----BEGIN RSA PRIVATE KEY-----' file && echo found",
    "sk-fading-circle sk-cube-grid-animation-container",
    "npm_config_registry npm_lifecycle_event npm_package_version",
    "primary_key=True, foreign_key='users.id'",
    "Restored from cache key: linux-node-modules",
    "auth: enabled, tokens: 3, secrets: 0",
    "keyboard=us, keymap=pc105",
    "Session started at 2026-03-04 05:06:07",
)


def negatives(seed: int = 11) -> list[str]:
    """Texts without a secret, many of them with what looks like one."""
    random = Random(seed)

    def path() -> str:
        return "/".join(random.choice(WORDS) for _ in range(random.randint(2, 6)))

    def integrity() -> str:
        return base64.b64encode(random.randbytes(64)).decode()

    made = [*COMMANDS, *LINES]
    makers = (
        lambda: f"commit {run(random, HEX, 40)}",
        lambda: f"{run(random, HEX, 7)} fix the {random.choice(WORDS)} of {random.choice(WORDS)}",
        lambda: f"index {run(random, HEX, 7)}..{run(random, HEX, 7)} 100644",
        lambda: f"request_id={uuid(random)} path=/{path()} status=200",
        lambda: f'"integrity": "sha512-{integrity()}"',
        lambda: f"    --hash=sha256:{run(random, HEX, 64)} \\",
        lambda: f'checksum = "{run(random, HEX, 64)}"',
        lambda: (
            f"{run(random, HEX, 64)}  dist/{random.choice(WORDS)}-1.2.{random.randint(0, 99)}.tar.gz"
        ),
        lambda: f"image: registry.example.org/app@sha256:{run(random, HEX, 64)}",
        lambda: (
            f"src: url(data:image/png;base64,{base64.b64encode(random.randbytes(200)).decode()})"
        ),
        lambda: f"/usr/lib/{path()}.so.{random.randint(1, 9)}",
        lambda: f"  at {random.choice(WORDS)} (/srv/{path()}.js:{random.randint(1, 999)}:12)",
        lambda: (
            f"2026-03-04T05:06:07.{random.randint(0, 999):03d}Z INFO {random.choice(WORDS)} {random.choice(WORDS)} took {random.randint(1, 999)} ms"
        ),
        lambda: f"cp {path()} {path()} && ls -l {path()}",
        lambda: f"from {random.choice(WORDS)}.{random.choice(WORDS)} import {random.choice(WORDS)}",
        lambda: f"{random.choice(WORDS[:20])}: {random.choice(WORDS)}",
        lambda: (
            f"container {run(random, HEX, 12)} {random.choice(WORDS)} Up {random.randint(1, 60)} minutes"
        ),
        lambda: f'ETag: "{run(random, HEX, 32)}"',
        lambda: (
            f"{run(random, URLSAFE, 11)} https://example.org/watch?v={run(random, URLSAFE, 11)}"
        ),
        lambda: f"blob:{run(random, BASE64, 76)}",
        lambda: f"arn:aws:iam::{run(random, DIGITS, 12)}:role/{random.choice(WORDS)}",
        lambda: (
            f"-e {random.choice(WORDS).upper()}_{random.choice(('NAME', 'FILE', 'COUNT', 'URL'))}={random.choice(WORDS)}"
        ),
    )
    while len(made) < 1200:
        made.append(random.choice(makers)())
    return made
