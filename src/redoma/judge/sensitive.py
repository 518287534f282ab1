"""Which names hold secrets, run by themselves later, or rule the guard: tables, no patterns.

Tables instead of regular expressions, since compiling those would cost a cold hook more than
everything else it does. A path is compared with `/` around it, so `/.ssh/` is the directory
itself and all below it.
"""

from __future__ import annotations

_SECRET_TREES = (
    "/.ssh/",
    "/.gnupg/",
    "/.aws/",
    "/.azure/",
    "/.kube/",
    "/.config/gcloud/",
    "/.config/gh/",
    "/.config/op/",
    "/.op/",
    "/.config/doctl/",
    "/.config/rclone/",
    "/.config/git/credentials/",
    "/.config/hub/",
    "/.docker/config.json/",
    "/.cargo/credentials/",
    "/.cargo/credentials.toml/",
    "/.gem/credentials/",
    "/.terraform.d/credentials.tfrc.json/",
    "/.password-store/",
    "/.keychain/",
    "/keychains/",
    "/.local/share/keyrings/",
    "/.mozilla/",
    "/.config/google-chrome/",
    "/.config/chromium/",
    "/.config/bravesoftware/",
    "/.config/microsoft-edge/",
    "/application support/google/chrome/",
    "/application support/firefox/",
    "/.ethereum/keystore/",
    "/.bitcoin/",
    "/.electrum/",
    "/.snowsql/",
    "/.claude/.credentials.json/",
    "/.codex/auth.json/",
    "/.gemini/oauth_creds.json/",
    "/.config/anthropic/",
    "/.config/openai/",
    "/.config/huggingface/",
    "/.huggingface/token/",
    "/.cache/huggingface/token/",
    "/.oci/",
    "/.config/sops/",
    "/.minikube/",
)
_SECRET_NAMES = frozenset(
    ".netrc _netrc .pgpass .my.cnf .mylogin.cnf .npmrc .pypirc .git-credentials .terraformrc .vault-token "
    ".s3cfg .boto .env .envrc .htpasswd .dockercfg .databrickscfg .bash_history .zsh_history .sh_history "
    ".python_history .psql_history .mysql_history .node_repl_history .sqlite_history .rediscli_history "
    ".lesshst fish_history cookies login data logins.json key4.db cookies.sqlite wallet.dat credentials "
    "credentials.json credentials.yml credentials.yaml credentials.toml credentials.ini credentials.csv "
    "credentials.db secrets.yml secrets.yaml secrets.json secrets.toml secrets.env secrets.txt secret.yml "
    "secret.yaml secret.json secrets.ini terraform.tfstate terraform.tfstate.backup kubeconfig admin.conf "
    "kubelet.conf id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk .yarnrc.yml auth.json "
    "master.key .pgpassfile .rclone.conf rclone.conf .sops.yaml service-account.json serviceaccount.json "
    "service_account.json client_secret.json .htaccess_secret keystore.jks".split()
)
_SECRET_ENDS = (
    ".pem",
    ".p12",
    ".pfx",
    ".jks",
    ".keystore",
    ".kdb",
    ".kdbx",
    ".ppk",
    ".key",
    ".tfstate",
    "_rsa",
    "_dsa",
    "_ecdsa",
    "_ed25519",
    "_history",
    ".agekey",
    ".ovpn",
)
_SHOWN_ENDS = (".pub", ".example", ".sample", ".template", ".dist", ".defaults", ".tmpl", ".md")
_PUBLIC_IN_SSH = ("/known_hosts", ".pub", "/.ssh/config")

_SECRET_SYSTEM = (
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/security/opasswd",
    "/etc/krb5.keytab",
    "/etc/ssl/private",
    "/etc/kubernetes",
    "/etc/letsencrypt",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/ipsec.secrets",
    "/etc/ppp/chap-secrets",
    "/etc/ppp/pap-secrets",
    "/etc/master.passwd",
    "/etc/rancher",
    "/proc/kcore",
    "/dev/mem",
    "/dev/kmem",
    "/dev/port",
    "/var/run/secrets",
    "/run/secrets",
    "/var/lib/docker",
    "/var/lib/kubelet",
    "/var/lib/mysql",
    "/var/lib/postgresql",
    "/var/spool/cron",
)

_STARTUP_TREES = (
    "/.config/fish/",
    "/.vim/",
    "/.config/nvim/",
    "/.emacs.d/",
    "/.config/git/config/",
    "/.git/hooks/",
    "/.git/config/",
    "/.git/config.worktree/",
    "/.git/info/attributes/",
    "/.husky/",
    "/.githooks/",
    "/.config/autostart/",
    "/.config/systemd/",
    "/.config/environment.d/",
    "/.local/share/systemd/",
    "/.local/bin/",
    "/launchagents/",
    "/launchdaemons/",
    "/.pip/",
    "/.config/pip/",
    "/.config/direnv/",
    "/.vscode/tasks.json/",
    "/.vscode/settings.json/",
    "/.vscode/launch.json/",
    "/.idea/workspace.xml/",
    "/.idea/runconfigurations/",
    "/.cargo/config/",
    "/.cargo/config.toml/",
    "/.ssh/",
    "/.ipython/profile_default/startup/",
    "/.gnupg/",
    "/.docker/config.json/",
    "/.kube/config/",
    "/.aws/",
    "/site-packages/sitecustomize.py/",
)
_STARTUP_NAMES = frozenset(
    ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin "
    ".zlogout .kshrc .mkshrc .cshrc .tcshrc .login .inputrc .xinitrc .xprofile .xsession .xsessionrc "
    ".pam_environment .vimrc .gvimrc .exrc .nanorc .emacs .gitconfig .npmrc .yarnrc .pypirc .curlrc .wgetrc .tmux.conf "
    ".screenrc .gdbinit .lldbinit .pythonrc .pythonrc.py .pystartup .rprofile .renviron .irbrc .pryrc .psqlrc .sqliterc "
    ".my.cnf sitecustomize.py usercustomize.py .direnvrc .netrc .git-credentials .rhosts .shosts .hushlogin "
    ".bash_env .mailcap .forward .procmailrc".split()
)
_STARTUP_SYSTEM = (
    "/etc/profile",
    "/etc/bash.bashrc",
    "/etc/bashrc",
    "/etc/zsh",
    "/etc/environment",
    "/etc/cron",
    "/etc/anacrontab",
    "/etc/rc",
    "/etc/init",
    "/etc/systemd",
    "/etc/sudoers",
    "/etc/passwd",
    "/etc/shadow",
    "/etc/group",
    "/etc/gshadow",
    "/etc/pam.d",
    "/etc/ld.so",
    "/etc/ssh/",
    "/etc/xinetd.d",
    "/etc/apt",
    "/etc/hosts",
    "/etc/resolv.conf",
    "/etc/nsswitch.conf",
    "/etc/udev",
    "/etc/modprobe.d",
    "/etc/modules",
    "/etc/fstab",
    "/etc/exports",
    "/etc/kernel",
    "/etc/default/grub",
    "/etc/motd",
    "/etc/update-motd.d",
    "/usr/lib/systemd",
    "/lib/systemd",
    "/var/spool/cron",
    "/var/spool/at",
    "/library/launch",
    "/library/startupitems",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/bin/",
    "/sbin/",
    "/usr/lib",
    "/lib",
    "/boot",
)

_GUARD_TREES = (
    "/.codex/",
    "/.gemini/",
    "/.cursor/",
    "/.claude.json/",
    "/.mcp.json/",
    "/.config/redoma/",
    "/.local/share/redoma/",
    "/.local/state/redoma/",
    "/.cache/redoma/",
    "/.redoma/",
    "/managed-settings.json/",
    "/sandbox.yaml/",
    "/sandbox.yml/",
    "/.aider.conf.yml/",
    "/.continue/",
    "/.windsurf/",
    "/.config/guard/",
    "/bin/guard/",
    "/bin/redoma/",
    "/.claude/settings.json/",
    "/.claude/settings.local.json/",
    "/.claude/hooks/",
    "/etc/claude-code/",
    "/etc/codex/",
    "/library/application support/claudecode/",
)


_KEY_FOLDERS = (
    "/certs",
    "/.certs",
    "/private",
    "/secrets",
    "/.secrets",
    "/credentials",
    "/.credentials",
    "/private_keys",
    "/private-keys",
    "/keystore",
    "/keystores",
    "/ssl-keys",
)
_IDENTITY_FILES = frozenset(
    "/etc/hostname /etc/machine-id /etc/passwd /etc/hosts /proc/sys/kernel/hostname /proc/version".split()
)
_SECRET_WORDS = frozenset(
    "SECRET SECRETS TOKEN PASSWORD PASSWD PASSPHRASE APIKEY CREDENTIAL CREDENTIALS PAT PGPASSWORD MNEMONIC DSN".split()
)
_SECRET_KEYS = ("API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "SECRET_KEY", "SIGNING_KEY", "ENCRYPTION_KEY", "AUTH_KEY", "MASTER_KEY")
_SECRET_VARIABLES = frozenset(("MYSQL_PWD", "DATABASE_URL", "REDIS_URL", "MONGODB_URI", "SSH_KEY", "KUBECONFIG_DATA"))


def is_secret(path: str) -> bool:
    """Whether reading it would show keys, tokens, passwords or histories."""
    lowered = path.lower()
    name = lowered.rstrip("/").rpartition("/")[2]
    if name.endswith(_SHOWN_ENDS) or lowered.endswith(_PUBLIC_IN_SSH):
        return False
    if name in _SECRET_NAMES or name.endswith(_SECRET_ENDS):
        return True
    if name.startswith((".env.", "id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", "ssh_host_")):
        return True
    if lowered.startswith("/proc/") and name in ("environ", "mem", "maps", "auxv"):
        return True
    if lowered.startswith(_SECRET_SYSTEM):
        return True
    around = f"/{lowered}/"
    return any(tree in around for tree in _SECRET_TREES)


def is_startup(path: str) -> bool:
    """Whether what is written there runs later by itself, or decides who may come in."""
    lowered = path.lower()
    if lowered.rstrip("/").rpartition("/")[2] in _STARTUP_NAMES:
        return True
    if lowered.startswith(_STARTUP_SYSTEM):
        return True
    around = f"/{lowered}/"
    return any(tree in around for tree in _STARTUP_TREES)


def is_guard(path: str) -> bool:
    """Whether it holds the settings of a guard or of an agent."""
    around = f"/{path.lower()}/"
    return any(tree in around for tree in _GUARD_TREES) or around.endswith("/.claude/")


def keeps_secrets(path: str) -> bool:
    """Whether a directory is where keys are kept, so that what is packed from it carries them."""
    lowered = path.lower().rstrip("/*")
    if lowered.endswith(_SHOWN_ENDS):
        return False
    return lowered.endswith(_KEY_FOLDERS) or any(f"{each}/" in lowered for each in _KEY_FOLDERS)


def is_identity(path: str) -> bool:
    """Whether a file tells who or where this machine is."""
    return path in _IDENTITY_FILES


def is_secret_variable(name: str) -> bool:
    """Whether a variable's name says that it holds a token, key or password."""
    upper = name.upper()
    if upper in _SECRET_VARIABLES or not _SECRET_WORDS.isdisjoint(upper.split("_")):
        return True
    return any(each in upper for each in _SECRET_KEYS)
