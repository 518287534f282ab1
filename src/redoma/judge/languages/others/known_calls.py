"""Which names in which language run, delete, write, read, ask or evaluate.

A name stands as it is written, or with a leading dot for a method of anything. After a `|` comes
what the code must mention for the name to count, since
`exec` of a JavaScript pattern is no program.
"""

from __future__ import annotations

ACTIONS: dict[str, dict[str, str]] = {
    "javascript": {
        "run": ".exec|child_process .execSync|child_process .spawn|child_process "
        ".spawnSync|child_process .execFile|child_process "
        ".execFileSync|child_process .fork|child_process exec|child_process "
        "execSync|child_process spawn|child_process spawnSync|child_process "
        "execFile|child_process Bun.spawn Bun.spawnSync Deno.Command Deno.run execa "
        "execaSync shell.exec $ java.lang.ProcessBuilder .exec|Runtime",
        "delete": ".unlink|fs .unlinkSync .rmdir|fs .rmdirSync unlinkSync rmSync rmdirSync "
        "Deno.remove Deno.removeSync .rm|fs .rmSync rm|fs/promises unlink|fs/promises",
        "delete-tree": "rimraf rimrafSync fs.remove fs.removeSync .removeSync|fs-extra "
        ".emptyDirSync .emptyDir shell.rm",
        "write": ".writeFile .writeFileSync .appendFile .appendFileSync writeFileSync "
        "appendFileSync .createWriteStream .truncate|fs .truncateSync .mkdirSync "
        ".chmodSync .chownSync .symlinkSync .outputFile Deno.writeTextFile "
        "Deno.writeFile Deno.writeTextFileSync Bun.write",
        "move": ".rename|fs .renameSync renameSync Deno.rename .copyFile|fs .copyFileSync "
        ".cpSync Deno.copyFile .moveSync",
        "read": ".readFile .readFileSync readFileSync .createReadStream Deno.readTextFile "
        "Deno.readFile Deno.readTextFileSync Bun.file",
        "ask": "fetch https.get http.get https.request http.request axios.get axios got "
        ".get|http undici.request needle.get superagent.get",
        "send": "axios.post axios.put axios.delete axios.patch .post|http got.post "
        "needle.post superagent.post",
        "socket": "net.connect net.createConnection net.Socket tls.connect .connect|net "
        ".createConnection|net Deno.connect WebSocket dgram.createSocket dns.resolve "
        "dns.lookup java.net.Socket",
        "listen": ".createServer .listen Deno.listen Bun.serve Deno.serve",
        "eval": "eval Function vm.runInThisContext vm.runInNewContext vm.runInContext "
        "vm.Script .runInThisContext .runInNewContext .compileFunction "
        "setTimeout|eval Worker|eval .Worker|eval .constructor",
        "kill": "process.kill process.abort",
        "rights": "process.setuid process.setgid process.seteuid",
        "library": "process.dlopen process.binding Deno.dlopen",
    },
    "perl": {
        "run": "system exec IPC::Open3::open3 open2 open3 IPC::System::Simple::system "
        "capture backtick syscall",
        "open": "open sysopen opendir",
        "delete": "unlink rmdir",
        "delete-tree": "rmtree remove_tree File::Path::rmtree File::Path::remove_tree "
        "File::Path->remove_tree",
        "write": "mkdir chmod chown truncate symlink link write_file spew mkfifo",
        "move": "rename move copy File::Copy::move File::Copy::copy",
        "read": "slurp read_file read_text",
        "ask": "get|LWP getstore|LWP LWP::Simple::get LWP::Simple::getstore mirror "
        "HTTP::Tiny->new LWP::UserAgent->new",
        "socket": "IO::Socket::INET->new IO::Socket::INET IO::Socket::SSL->new socket connect "
        "inet_aton sockaddr_in",
        "eval": "eval do|eval evalbytes",
        "kill": "kill",
        "rights": "setuid POSIX::setuid POSIX::setgid",
        "library": "DynaLoader::dl_load_file XSLoader::load",
    },
    "ruby": {
        "run": "system exec spawn Kernel.system Kernel.exec Kernel.spawn Process.spawn "
        "Process.exec .system|const_get .exec|const_get .spawn|const_get IO.popen "
        "Open3.capture2 Open3.capture3 Open3.capture2e "
        "Open3.popen3 Open3.popen2 Open3.pipeline PTY.spawn syscall",
        "delete": "File.delete File.unlink FileUtils.rm FileUtils.rm_f FileUtils.remove "
        "Dir.rmdir Dir.delete Dir.unlink .unlink",
        "delete-tree": "FileUtils.rm_rf FileUtils.rm_r FileUtils.remove_dir FileUtils.remove_entry "
        "FileUtils.remove_entry_secure FileUtils.rmtree rm_rf rm_r .rmtree .rm_rf "
        ".rm_r|const_get .remove_entry|const_get",
        "write": "File.write IO.write File.binwrite File.truncate FileUtils.touch "
        "FileUtils.mkdir FileUtils.mkdir_p FileUtils.chmod FileUtils.chown "
        "FileUtils.chmod_R FileUtils.ln_s File.chmod File.symlink Dir.mkdir",
        "move": "File.rename FileUtils.mv FileUtils.cp FileUtils.cp_r FileUtils.copy "
        "FileUtils.move FileUtils.install",
        "read": "File.read IO.read File.readlines IO.readlines File.binread File.foreach",
        "open": "File.open File.new open IO.open",
        "ask": "Net::HTTP.get Net::HTTP.get_response Net::HTTP.start URI.open URI.parse|Net "
        "HTTParty.get Faraday.get RestClient.get",
        "send": "Net::HTTP.post Net::HTTP.post_form HTTParty.post Faraday.post RestClient.post",
        "socket": "TCPSocket.new TCPSocket.open Socket.tcp UDPSocket.new UNIXSocket.new",
        "listen": "TCPServer.new WEBrick::HTTPServer.new Socket.tcp_server_loop",
        "eval": "eval instance_eval class_eval module_eval Kernel.eval binding.eval load "
        "Marshal.load",
        "kill": "Process.kill abort",
        "rights": "Process::Sys.setuid Process::UID.change_privilege Process.uid",
        "library": "Fiddle.dlopen Fiddle::Handle.new DL.dlopen",
    },
    "php": {
        "run": "system exec shell_exec passthru popen proc_open pcntl_exec expect_popen mail",
        "delete": "unlink rmdir",
        "write": "file_put_contents mkdir touch chmod chown symlink link tempnam ftruncate",
        "move": "rename copy move_uploaded_file",
        "read": "readfile file highlight_file show_source parse_ini_file fpassthru",
        "open": "fopen SplFileObject",
        "ask": "file_get_contents curl_init get_headers",
        "socket": "fsockopen pfsockopen stream_socket_client socket_connect socket_create",
        "listen": "stream_socket_server socket_listen",
        "eval": "eval assert create_function include include_once require require_once unserialize",
        "kill": "posix_kill",
        "rights": "posix_setuid posix_setgid posix_seteuid",
        "library": "dl FFI.cdef FFI::cdef",
    },
    "lua": {
        "run": "os.execute io.popen vim.fn.system os.exec",
        "delete": "os.remove",
        "move": "os.rename",
        "open": "io.open io.lines io.output io.input",
        "socket": "socket.tcp socket.connect socket.udp .tcp|socket .bind|socket .connect|socket",
        "ask": "http.request https.request",
        "eval": "load loadstring dofile loadfile",
        "library": "package.loadlib ffi.load",
    },
    "r": {
        "run": "system system2 shell shell.exec pipe processx::run sys::exec_wait",
        "delete": "file.remove",
        "delete-tree": "unlink fs::dir_delete",
        "write": "writeLines write.csv write.table saveRDS save sink dir.create file.create "
        "Sys.chmod write cat|file=",
        "move": "file.rename file.copy",
        "read": "readLines read.csv read.table readRDS scan readr::read_file",
        "ask": "download.file url httr::GET curl::curl_download curl",
        "send": "httr::POST httr::PUT httr::DELETE",
        "socket": "socketConnection make.socket",
        "eval": "eval source sys.source load",
        "library": "dyn.load",
    },
    "julia": {
        "run": "run pipeline open|`",
        "delete-tree": "rm Base.rm",
        "write": "write touch mkdir mkpath chmod chown symlink cp",
        "move": "mv Base.mv",
        "read": "read readlines readline eachline",
        "ask": "download Downloads.download HTTP.get",
        "send": "HTTP.post HTTP.put HTTP.delete",
        "socket": "connect Sockets.connect",
        "listen": "listen Sockets.listen",
        "eval": "eval include include_string Meta.parse",
        "library": "dlopen Libdl.dlopen ccall",
        "kill": "kill",
    },
    "elixir": {
        "run": "System.cmd System.shell os.cmd os:cmd Port.open open_port System.find_executable",
        "delete": "File.rm file:delete",
        "delete-tree": "File.rm_rf File.rm_rf! file:del_dir_r",
        "write": "File.write File.write! File.mkdir File.mkdir_p File.touch file:write_file",
        "move": "File.rename File.cp File.cp_r",
        "read": "File.read File.read! File.stream! file:read_file",
        "ask": "httpc.request httpc:request HTTPoison.get Req.get",
        "socket": "gen_tcp.connect gen_tcp:connect",
        "listen": "gen_tcp.listen gen_tcp:listen",
        "eval": "Code.eval_string Code.eval_file Code.require_file Code.compile_string",
        "library": "erlang:load_nif",
    },
    "groovy": {
        "run": ".exec ProcessBuilder .execute exec System.exec sys.process.Process Process "
        ".!|sys.process",
        "delete": ".delete|File .deleteOnExit Files.delete Files.deleteIfExists",
        "delete-tree": ".deleteDir .deleteRecursively FileUtils.deleteDirectory "
        "FileUtils.forceDelete os.remove.all",
        "write": "Files.write Files.writeString .createNewFile .mkdirs FileWriter PrintWriter "
        "FileOutputStream",
        "move": "Files.move Files.copy .renameTo",
        "read": "Files.readString Files.readAllLines Files.readAllBytes FileReader "
        "FileInputStream Source.fromFile",
        "ask": "URL java.net.URL .openConnection .openStream HttpClient.newHttpClient "
        "Source.fromURL",
        "socket": "Socket java.net.Socket",
        "listen": "ServerSocket",
        "eval": ".eval Eval.me GroovyShell.evaluate .evaluate",
        "library": "System.load System.loadLibrary",
        "kill": "System.exit|Runtime",
    },
    "haskell": {
        "run": "system callCommand callProcess readProcess rawSystem spawnCommand "
        "System.Process.system System.Process.callCommand System.Process.callProcess "
        "System.Cmd.system readCreateProcess shell",
        "delete": "removeFile System.Directory.removeFile",
        "delete-tree": "removeDirectoryRecursive removePathForcibly "
        "System.Directory.removeDirectoryRecursive",
        "write": "writeFile appendFile createDirectory",
        "read": "readFile",
        "move": "renameFile copyFile renameDirectory",
    },
}
for _other, _same in (
    ("typescript", "javascript"),
    ("node", "javascript"),
    ("java", "groovy"),
    ("scala", "groovy"),
    ("kotlin", "groovy"),
    ("erlang", "elixir"),
):
    ACTIONS[_other] = ACTIONS[_same]

DECODERS = frozenset(
    "atob Buffer.from base64_decode decode_base64 MIME::Base64::decode Base64.decode64 "
    "Base64.strict_decode64 Base64.decode base64.decode Base64.decode64! hex2bin "
    "gzinflate str_rot13 Base64.decode!".split()
)
"""Functions that turn an unreadable text into code or commands."""
