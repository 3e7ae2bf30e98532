"""A command of Medley, run by a process that has imported it already: `python -IS command_client.py SOCKET ARGUMENTS`.

For its caller this process is the command: the same output, exit code and signals. See `command_server`.
"""

import marshal
import os
import signal
import socket
import sys

FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main() -> None:
    place, *arguments = sys.argv[1:]
    umask = os.umask(0)
    os.umask(umask)
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(place)
        for number in FORWARDED:
            signal.signal(number, lambda received, _frame: server.send(bytes([received])))
        request = marshal.dumps((arguments, dict(os.environ), os.getcwd(), umask))
        socket.send_fds(server, [len(request).to_bytes(8)], [0, 1, 2])
        server.sendall(request)
        answer = server.recv(8)
    code = os.waitstatus_to_exitcode(int.from_bytes(answer)) if answer else 70
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


main()
