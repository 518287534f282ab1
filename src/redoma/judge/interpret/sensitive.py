"""Which names hold secrets, run by themselves later, or rule the guard: questions about a path.

Tables instead of regular expressions, since compiling those would cost a cold hook more than
everything else it does. A tree is compared with a path that has `/` around it, all in lower case.
"""

from __future__ import annotations

from redoma.judge.text.glob import glob, has_glob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

SECRET_TREES = tuple(
    f"/{each}/"
    for each in (
        ".ssh|.gnupg|.aws|.azure|.kube|.config/gcloud|.config/gh|.config/glab-cli"
        "|.config/op|.op|.config/doctl|.config/rclone|.config/git/credentials|.config/hub"
        "|.docker/config.json|.config/containers/auth.json|.cargo/credentials"
        "|.cargo/credentials.toml|.gem/credentials|.bundle/config|.composer/auth.json"
        "|.m2/settings.xml|.m2/settings-security.xml|.gradle/gradle.properties"
        "|.nuget/nuget.config|.terraform.d/credentials.tfrc.json|.pulumi/credentials.json"
        "|.chef|.vagrant.d/insecure_private_key|.password-store|.keychain|keychains"
        "|.local/share/keyrings|.local/share/kwalletd|.config/keepassxc|.config/bitwarden"
        "|.local/state/redoma/vault"
        "|.1password|.config/1password|.mozilla|.thunderbird|.config/google-chrome"
        "|.config/chromium|.config/bravesoftware|.config/microsoft-edge|.config/vivaldi"
        "|.config/opera|application support/google/chrome|application support/firefox"
        "|application support/bravesoftware|application support/microsoft edge"
        "|library/cookies|library/messages|.config/slack|.config/discord|.config/signal"
        "|.ethereum/keystore|.bitcoin|.electrum|.config/solana|.near-credentials|.snowsql"
        "|.databricks|.dbt/profiles.yml|.kaggle|.config/wandb|.huggingface/token"
        "|.cache/huggingface/token|.config/huggingface|.claude/.credentials.json"
        "|.codex/auth.json|.gemini/oauth_creds.json|.config/anthropic|.config/openai"
        "|.config/github-copilot|.config/sops|.oci|.minikube|.fly/config.yml"
        "|.config/hcloud|.config/linode-cli|.linode-cli|.config/scw|.config/stripe"
        "|.config/heroku|.heroku|.config/netlify|.netlify|.config/vercel"
        "|.vercel/auth.json|.railway|.wrangler|.config/.wrangler|.cloudflared|.ngrok2"
        "|.config/ngrok|.tsh|.config/configstore|.config/firebase|.config/filezilla"
        "|.filezilla|.putty|.purple|.subversion/auth|.cassandra|.config/mongodb"
        "|.mc/config.json|.jfrog|.config/pypoetry/auth.toml|.local/share/uv/credentials"
        "|.config/doppler|.doppler|.config/infisical|.akeyless"
    ).split("|")
)
SECRET_NAMES = frozenset(
    (
        ".netrc|_netrc|.pgpass|.my.cnf|.mylogin.cnf|.npmrc|.pypirc|.git-credentials"
        "|.terraformrc|.vault-token|.vault_pass|.vault-password|vault_pass.txt"
        "|.vault_pass.txt|.s3cfg|.boto|.env|.envrc|.htpasswd|.dockercfg|.databrickscfg"
        "|.bash_history|.zsh_history|.sh_history|.python_history|.psql_history"
        "|.mysql_history|.node_repl_history|.sqlite_history|.rediscli_history"
        "|.irb_history|.dbshell|.lesshst|fish_history|consolehost_history.txt|cookies"
        "|login data|logins.json|key3.db|key4.db|cookies.sqlite|wallet.dat|credentials"
        "|credentials.json|credentials.yml|credentials.yaml|credentials.toml"
        "|credentials.ini|credentials.csv|credentials.db|credentials.xml|credentials.txt"
        "|secrets.yml|secrets.yaml|secrets.json|secrets.toml|secrets.env|secrets.txt"
        "|secrets.ini|secrets.tfvars|secret.yml|secret.yaml|secret.json|secret.key"
        "|secret.txt|terraform.tfstate|terraform.tfstate.backup|kubeconfig|admin.conf"
        "|kubelet.conf|id_rsa|id_dsa|id_ecdsa|id_ed25519|id_ecdsa_sk|id_ed25519_sk"
        "|identity|.yarnrc.yml|auth.json|auth.toml|master.key|credentials.yml.enc"
        "|.pgpassfile|.rclone.conf|rclone.conf|service-account.json|serviceaccount.json"
        "|service_account.json|service-account-key.json|client_secret.json"
        "|client_secrets.json|token.json|tokens.json|access_tokens.db|adc.json"
        "|application_default_credentials.json|.htaccess_secret|keystore.jks"
        "|passwords.txt|password.txt|passwords.csv|secrets.properties|prod.secret.exs"
        "|wp-config.php|.s3cmd|.fetchmailrc|.msmtprc|.muttrc|.netrc.gpg|sam|ntds.dit"
        "|secrets.tdb|debian.cnf"
    ).split("|")
)
SECRET_ENDS = tuple(
    (
        ".pem .p12 .pfx .jks .keystore .kdb .kdbx .ppk .key .tfstate _rsa _dsa _ecdsa "
        "_ed25519 _history .agekey .ovpn .keytab .asc.key .keychain .keychain-db .gpg.key .p8"
    ).split()
)
SECRET_STARTS = (
    ".env.",
    "id_rsa",
    "id_ed25519",
    "id_ecdsa",
    "id_dsa",
    "ssh_host_",
    "service-account-",
    "service_account_",
)
SHOWN_ENDS = (
    ".pub",
    ".example",
    ".sample",
    ".template",
    ".dist",
    ".defaults",
    ".tmpl",
    ".md",
    ".schema",
    ".d.ts",
)
PUBLIC_IN_SSH = ("/known_hosts", ".pub", "/.ssh/config")
SECRET_SYSTEM = tuple(
    (
        "/etc/shadow /etc/gshadow /etc/sudoers /etc/security/opasswd /etc/krb5.keytab "
        "/etc/ssl/private /etc/pki/tls/private /etc/kubernetes /etc/letsencrypt "
        "/etc/wireguard /etc/openvpn /etc/ipsec.secrets /etc/ppp/chap-secrets "
        "/etc/ppp/pap-secrets /etc/master.passwd /etc/rancher /etc/docker/key.json "
        "/etc/networkmanager/system-connections /etc/wpa_supplicant /etc/cloudflared "
        "/etc/mysql/debian.cnf /proc/kcore /dev/mem /dev/kmem /dev/port /var/run/secrets "
        "/run/secrets /var/lib/docker /var/lib/kubelet /var/lib/rancher /var/lib/mysql "
        "/var/lib/postgresql /var/lib/samba/private /var/lib/sss "
        "/var/lib/jenkins/secrets /var/spool/cron /var/backups/shadow "
        "/var/backups/gshadow /private/etc/master.passwd"
    ).split()
)
STARTUP_TREES = tuple(
    f"/{each}/"
    for each in (
        ".config/fish|.vim|.config/nvim|.emacs.d|.config/git/config|.git/hooks"
        "|.git/config|.git/config.worktree|.git/info/attributes|.husky|.githooks"
        "|.config/autostart|.config/systemd|.config/environment.d|.local/share/systemd"
        "|launchagents|launchdaemons|.pip|.config/pip|.config/direnv"
        "|.vscode/tasks.json|.vscode/settings.json|.vscode/launch.json"
        "|.idea/workspace.xml|.idea/runconfigurations|.cargo/config|.cargo/config.toml"
        "|.ssh|.ipython/profile_default/startup|.gnupg|.docker/config.json|.kube/config"
        "|.aws|site-packages/sitecustomize.py|.oh-my-zsh/custom|.config/zsh|.config/hypr"
        "|.config/i3|.config/sway|.config/kitty|.bashrc.d|.zshrc.d|.profile.d"
    ).split("|")
)
STARTUP_NAMES = frozenset(
    ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc "
    ".zshenv .zprofile .zlogin .zlogout .kshrc .mkshrc .cshrc .tcshrc .login .inputrc "
    ".xinitrc .xprofile .xsession .xsessionrc .pam_environment .vimrc .gvimrc .exrc "
    ".nanorc .emacs .gitconfig .npmrc .yarnrc .pypirc .curlrc .wgetrc .tmux.conf "
    ".screenrc .gdbinit .lldbinit .pythonrc .pythonrc.py .pystartup .rprofile .renviron "
    ".irbrc .pryrc .psqlrc .sqliterc .my.cnf sitecustomize.py usercustomize.py .direnvrc "
    ".netrc .git-credentials .rhosts .shosts .hushlogin .bash_env .mailcap .forward "
    ".procmailrc".split()
)
STARTUP_SYSTEM = tuple(
    (
        "/etc/profile /etc/bash.bashrc /etc/bashrc /etc/zsh /etc/environment /etc/cron "
        "/etc/anacrontab /etc/rc /etc/init /etc/systemd /etc/sudoers /etc/passwd "
        "/etc/shadow /etc/group /etc/gshadow /etc/pam.d /etc/ld.so /etc/ssh/ "
        "/etc/xinetd.d /etc/apt /etc/yum.repos.d /etc/hosts /etc/resolv.conf "
        "/etc/nsswitch.conf /etc/udev /etc/modprobe.d /etc/modules /etc/fstab "
        "/etc/exports /etc/kernel /etc/default/grub /etc/motd /etc/update-motd.d "
        "/usr/lib/systemd /lib/systemd /var/spool/cron /var/spool/at /library/launch "
        "/library/startupitems /usr/local/bin /usr/local/sbin /usr/bin /usr/sbin /bin/ "
        "/sbin/ /usr/lib /lib /boot"
    ).split()
)
VITAL_FILES = frozenset(
    "/etc/passwd /etc/shadow /etc/group /etc/gshadow /etc/sudoers /etc/fstab /etc/hosts "
    "/etc/profile /etc/resolv.conf /etc/nsswitch.conf /etc/ld.so.cache /etc/ld.so.conf "
    "/etc/inittab /etc/ssh/sshd_config /etc/machine-id /etc/crypttab".split()
)
VITAL_TREES = (
    "/bin/",
    "/sbin/",
    "/lib/",
    "/lib64/",
    "/boot/",
    "/usr/bin/",
    "/usr/sbin/",
    "/usr/lib/",
    "/etc/pam.d/",
)
GUARD_TREES = tuple(
    f"/{each}/"
    for each in (
        ".codex|.gemini|.cursor|.claude.json|.mcp.json|.config/redoma|.local/share/redoma"
        "|.local/state/redoma|.cache/redoma|.redoma|managed-settings.json|sandbox.yaml"
        "|sandbox.yml|.aider.conf.yml|.continue|.windsurf|.config/guard|bin/guard"
        "|bin/redoma|.claude/settings.json|.claude/settings.local.json|.claude/hooks"
        "|etc/claude-code|etc/codex|library/application support/claudecode"
    ).split("|")
)
KEY_FOLDERS = tuple(
    (
        "/certs /.certs /private /secrets /.secrets /credentials /.credentials "
        "/private_keys /private-keys /keystore /keystores /ssl-keys /ssh-keys "
        "/pki/private"
    ).split()
)
IDENTITY_FILES = frozenset(
    "/etc/hostname /etc/machine-id /etc/passwd /etc/hosts /proc/sys/kernel/hostname "
    "/proc/version".split()
)
SECRET_WORDS = frozenset(
    "SECRET SECRETS TOKEN PASSWORD PASSWD PASSPHRASE APIKEY CREDENTIAL CREDENTIALS PAT "
    "PGPASSWORD MNEMONIC DSN".split()
)
SECRET_KEYS = tuple(
    (
        "API_KEY ACCESS_KEY PRIVATE_KEY SECRET_KEY SIGNING_KEY ENCRYPTION_KEY AUTH_KEY MASTER_KEY"
    ).split()
)
SECRET_VARIABLES = frozenset(
    "MYSQL_PWD DATABASE_URL REDIS_URL MONGODB_URI SSH_KEY KUBECONFIG_DATA".split()
)
CREDENTIALS = frozenset(
    ".netrc _netrc .pgpass .pypirc .boto .git-credentials .s3cfg .vault-token .my.cnf "
    ".mylogin.cnf id_rsa id_dsa id_ecdsa id_ed25519 .dockercfg .databrickscfg".split()
)

_WELL_KNOWN = (
    ".env",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".git-credentials",
    ".bash_history",
    ".ssh/id_rsa",
    ".ssh/id_ed25519",
    ".ssh/id_ecdsa",
    ".aws/credentials",
    ".kube/config",
    ".docker/config.json",
    ".config/gcloud/credentials.db",
    ".gnupg/secring.gpg",
    "etc/shadow",
    "etc/gshadow",
    "etc/sudoers",
)
ACCOUNT_FILES = ("/etc/passwd", "/etc/group")
_FEWEST_LETTERS = 2


def may_reach_secret(path: str) -> bool:
    """A pattern that spells part of a well-known secret's name; `*` alone spells nothing."""
    if not has_glob(path):
        return False
    steps = path.strip("/").split("/")
    return any(_fits(known.split("/"), steps) for known in _WELL_KNOWN)


def reaches_accounts(path: str) -> bool:
    """Whether a path is, or a pattern was made to be, one of the files with everyone's accounts."""
    if not has_glob(path):
        return path in ACCOUNT_FILES
    steps = path.strip("/").split("/")
    return any(_fits(known.strip("/").split("/"), steps) for known in ACCOUNT_FILES)


def _fits(known: list[str], steps: list[str]) -> bool:
    if len(steps) < len(known):
        return False
    spelled = 0
    for name, step in zip(known, steps[-len(known) :], strict=True):
        if name == step:
            continue
        letters = sum(c.isalnum() for c in step)
        # A leading dot must be spelled: no shell completes `*` to a hidden name.
        if not has_glob(step) or letters < _FEWEST_LETTERS or (name[0] == "." and step[0] != "."):
            return False
        pattern = glob(step)
        if pattern is None or not (pattern.fits(name) or step.rstrip("*?") == name):
            return False
        spelled += 1
    return spelled > 0


def is_secret(path: str) -> bool:
    """Whether reading it would show keys, tokens, passwords or histories."""
    lowered = path.lower()
    name = lowered.rstrip("/").rpartition("/")[2]
    if name.endswith(SHOWN_ENDS) or lowered.endswith(PUBLIC_IN_SSH):
        return False
    if name in SECRET_NAMES or name.endswith(SECRET_ENDS):
        return True
    if name.startswith(SECRET_STARTS):
        return True
    if lowered.startswith("/proc/") and name in ("environ", "mem", "maps", "auxv"):
        return True
    if lowered.startswith(SECRET_SYSTEM):
        return True
    around = f"/{lowered}/"
    return any(tree in around for tree in SECRET_TREES)


def program_place(path: str) -> str | None:
    """The name that a file in a person's directory of programs is found by; None elsewhere."""
    _, found, name = f"{path.rstrip('/')}/".lower().partition("/.local/bin/")
    return name.rstrip("/") if found else None


def shadows_program(path: str, programs: Container[str]) -> bool:
    """Attack: `~/.local/bin/git`: what a person types from then on is another program."""
    name = program_place(path)
    if name is None:
        return False
    return not name or not name.isprintable() or has_glob(name) or name in programs


def is_startup(path: str) -> bool:
    """Whether what is written there runs later by itself, or decides who may come in."""
    lowered = path.lower()
    if lowered.rstrip("/").rpartition("/")[2] in STARTUP_NAMES:
        return True
    if lowered.startswith(STARTUP_SYSTEM):
        return True
    around = f"/{lowered}/"
    return any(tree in around for tree in STARTUP_TREES)


def is_vital(path: str) -> bool:
    """Whether the machine neither starts nor lets anyone in without it."""
    return path in VITAL_FILES or path.startswith(VITAL_TREES)


def is_guard(path: str) -> bool:
    """Whether it holds the settings of a guard or of an agent."""
    around = f"/{path.lower()}/"
    return any(tree in around for tree in GUARD_TREES) or around.endswith("/.claude/")


def is_credential(path: str) -> bool:
    """Whether its very name says that it opens something, wherever it lies."""
    return path.rstrip("/").rpartition("/")[2].lower() in CREDENTIALS


def keeps_secrets(path: str) -> bool:
    """Whether a directory is where keys are kept, so that what is packed from it carries them."""
    lowered = path.lower().rstrip("/*")
    if lowered.endswith(SHOWN_ENDS):
        return False
    folders = KEY_FOLDERS
    return lowered.endswith(folders) or any(f"{each}/" in lowered for each in folders)


def is_identity(path: str) -> bool:
    """Whether a file tells who or where this machine is."""
    return path in IDENTITY_FILES


def is_secret_variable(name: str) -> bool:
    """Whether a variable's name says that it holds a token, key or password."""
    upper = name.upper()
    if upper in SECRET_VARIABLES or not SECRET_WORDS.isdisjoint(upper.split("_")):
        return True
    return any(each in upper for each in SECRET_KEYS)
