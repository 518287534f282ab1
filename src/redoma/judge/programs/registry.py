"""Which module handles which program, so that only what is needed is imported."""

from __future__ import annotations

_MODULES = {
    "wrappers": (
        "sudo doas su pkexec env genv timeout gtimeout nice gnice nohup gnohup xargs gxargs "
        "ionice taskset chrt choom prlimit"
    ),
    "shells": "bash sh dash zsh ksh mksh ash rbash fish csh tcsh",
    "curl": "curl",
    "web": "wget wget2 http https xh xhs aria2c axel lynx w3m links elinks",
    "sockets": "nc ncat netcat nc.traditional nc.openbsd telnet socat websocat wscat grpcurl",
    "remote": (
        "ssh slogin scp sftp ftp tftp lftp ncftp ssh-keygen ssh-add ssh-copy-id ssh-agent sshpass "
        "autossh mosh torsocks torify proxychains proxychains4 tsocks"
    ),
    "lookups": (
        "dig nslookup host drill ping whois traceroute mtr tracepath ping6 ping4 fping hping3 "
        "arping nping traceroute6 tcptraceroute nsupdate whoami hostname id logname hostnamectl "
        "users groups printenv nmap masscan zmap rustscan nikto"
    ),
    "pythons": (
        "python python2 python3 python2.7 python3.6 python3.7 python3.8 python3.9 python3.10 "
        "python3.11 python3.12 python3.13 python3.14 pypy pypy3 ipython ipython3 bpython "
        "micropython jython python3t py pythonw sage"
    ),
    "interpreters": (
        "node perl ruby php lua rscript julia tclsh osascript elixir erl groovy scala ghc jshell "
        "jrunscript nodejs node18 node20 tsx ts-node esno luajit lua5.1 lua5.2 lua5.3 lua5.4 "
        "texlua Rscript R littler wish jimsh irb pry jruby truffleruby iex ghci runghc runhaskell "
        "php8 php7 php-cgi hhvm groovysh kotlinc kotlin escript qjs js d8 rhino jjs pwsh "
        "powershell pwsh-preview pwsh.exe powershell.exe"
    ),
    "carrying": (
        "pbcopy pbpaste xclip xsel wl-copy wl-paste clip clip.exe termux-clipboard-get "
        "termux-clipboard-set putclip getclip mail mailx mutt neomutt sendmail msmtp swaks ssmtp "
        "s-nail nail exim exim4 sendemail croc wormhole magic-wormhole ffsend portal"
    ),
    "java": "java",
    "crypto": "openssl gpg gpg2 gpgv age rage sops ansible-vault git-crypt",
    "files": (
        "rm grm unlink srm trash trash-put gio-trash rmdir grmdir cp gcp mv gmv install ginstall "
        "ln gln link symlink"
    ),
    "git": "git",
    "forges": "gh glab",
    "building": (
        "just deno go pytest py.test tox nox cmake ninja meson bazel bazelisk task go-task rake "
        "scons waf invoke inv doit jest vitest mocha webpack rollup vite next nuxt astro gulp "
        "grunt pre-commit rspec phpunit ctest jq gojq jaq yq rtk"
    ),
    "making": "make gmake bmake remake mingw32-make",
    "agents": (
        "claude codex gemini qwen opencode amp cursor-agent crush droid aider code code-insiders "
        "codium vscodium cursor windsurf"
    ),
    "packages": (
        "pip pip3 pip2 uv uvx pipx poetry pipenv pdm rye hatch pixi conda mamba micromamba npm "
        "npx bunx pnpx pnpm yarn bun bundle bundler composer mise rtx asdf pyenv rbenv nodenv "
        "goenv jenv volta fnm cabal stack opam dune devbox aqua corepack rustup nvm lerna nx "
        "cargo gem brew apt apt-get aptitude yum dnf zypper apk luarocks cpan cpanm mvn mvnw "
        "gradle gradlew sbt mix dotnet"
    ),
    "filling": (
        "dd dcfldd dc3dd gdd shred gshred wipe scrub truncate gtruncate touch gtouch mkdir gmkdir "
        "mkfifo mknod fallocate mkswap mktemp gmktemp tempfile split gsplit csplit patch gpatch "
        "sponge mkfs mke2fs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat "
        "mkfs.exfat mkfs.ntfs mkfs.f2fs mkfs.minix mkfs.bfs mkfs.cramfs mkfs.jfs mkfs.reiserfs "
        "mkfs.erofs mkfs.nilfs2 mkfs.msdos mkfs.ubifs mkdosfs mkntfs mkexfatfs newfs newfs_apfs "
        "newfs_hfs newfs_msdos"
    ),
    "modes": (
        "chmod gchmod chown gchown chgrp gchgrp chcon lchown chattr chflags setfacl setcap setfattr"
    ),
    "filters": (
        "cat gcat head tail ghead gtail echo printf true false test [ pwd tac rev uniq tr base64 "
        "base32 gbase64 basenc xxd tee ps pv"
    ),
    "finding": "find gfind bfs fd fdfind",
    "searching": (
        "grep egrep fgrep rgrep ggrep zgrep zegrep zfgrep bzgrep xzgrep zstdgrep lzgrep pcregrep "
        "pcre2grep ugrep ug rg ag ack sift pt locate mlocate plocate slocate glocate"
    ),
    "repeating": "parallel sem rush watch viddy entr watchexec hyperfine",
    "archives": "tar gtar bsdtar cpio pax ar",
    "compressing": (
        "gzip pigz bzip2 pbzip2 xz lzma zstd lz4 brotli compress lzip lzop gunzip uncompress "
        "bunzip2 unxz unlzma unzstd unlz4 unpigz zcat gzcat bzcat xzcat lzcat zstdcat lz4cat "
        "lzmacat brcat zip unzip 7z 7za 7zr 7zz p7zip rar unrar"
    ),
    "sed": "sed gsed ssed",
    "awk": "awk gawk mawk nawk original-awk goawk frawk",
    "editors": (
        "vim vi nvim ex view rvim rview gvim gview evim vimdiff nvimdiff vim.tiny vim.basic vimx "
        "elvis nvi neovim ed red emacs emacsclient emacs-nox xemacs zile mg nano pico rnano micro "
        "joe jed mcedit kak hx helix ne tilde jmacs jstar less more most pg bat batcat zless "
        "zmore bzless xzless lzless xzmore bzmore lesspipe lv vimpager moar ov"
    ),
    "fzf": "fzf fzf-tmux sk peco fzy",
    "terminals": "tmux byobu screen script at batch crontab expect autoexpect",
    "running": (
        "xdg-open gnome-open kde-open exo-open wslview busybox toybox coreutils sbase-box "
        "ubase-box flock setarch arch sg ast-grep runuser capsh systemd-run run0 "
        "start-stop-daemon bwrap firejail"
    ),
    "system": (
        "sysctl date gdate ifconfig route arp ip mount umount kill pkill killall skill slay "
        "pgkill zkill killall5 fuser renice snice dc"
    ),
    "rsync": "rsync openrsync grsync rsync-ssl",
    "listing": "ls ll la dir vdir gls exa eza lsd stat gstat tree file",
    "clouds": "aws az gcloud",
    "clusters": (
        "kubectl oc k kubecolor microk8s.kubectl helm ansible doppler op infisical chamber "
        "aws-vault saml2aws railway akeyless dcli envkey heroku flyctl fly doctl vagrant"
    ),
    "transfers": "gsutil rclone s3cmd s5cmd mc mcli azcopy",
    "containers": "docker podman nerdctl finch docker.io docker-compose podman-compose",
    "database": (
        "psql pgcli edb-psql vsql mysql mariadb mycli sqlite3 sqlite duckdb litecli sqlcmd "
        "mssql-cli cqlsh clickhouse clickhouse-client clickhouse-local snowsql trino presto "
        "presto-cli hive beeline spark-sql impala-shell cockroach dolt usql bq osqueryi"
    ),
    "stores": "redis-cli valkey-cli keydb-cli mongosh mongo",
    "metadata": "exiftool",
    "debugging": "perf gdb gdb-multiarch cgdb lldb",
}

HANDLERS: dict[str, str] = {
    program: module for module, programs in _MODULES.items() for program in programs.split()
}
