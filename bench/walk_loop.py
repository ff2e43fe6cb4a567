"""What a walk costs a loop that does not end, whose hot method is in the same class, while it lasts and afterwards: `cargo xtask bench walk_loop`.

In each JVM some windows pass before the first walk, then windows with a walk and without take turns. A window with a walk is as long as the walk. The figures are ratios of turns a second: with a walk to the
neighbour without (during), and without, after walks, to those before the first one (after).
"""
import json
import os
import subprocess
import tempfile
import time

import rounds
import windows
from walk_cost import Program

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    parser = rounds.arguments(__doc__)
    parser.add_argument("--pairs", type=int, default=3, help="pairs in each JVM; there are as many JVMs as rounds")
    parser.set_defaults(rounds=5)
    o = parser.parse_args()
    o.agent = os.path.abspath(o.agent)
    instr = os.path.join(os.path.dirname(o.agent), "instr")
    during, after, walks = [], [], []
    with tempfile.TemporaryDirectory(prefix="instr-walk-loop-") as directory:
        subprocess.run([o.java + "/bin/javac", "-d", directory, os.path.join(HERE, "walk_loop", "Endless.java")], check=True)
        for _ in range(o.rounds):
            program = Program(o, directory, "loop", "Endless")
            pid = str(program.process.pid)
            seconds = [10.0]

            def walk():
                begin = time.monotonic()
                done = subprocess.run([instr, "walk", pid, "--json", "--seconds", "3"], capture_output=True, text=True, check=True)
                seconds[0] = time.monotonic() - begin
                walks.append(json.loads(done.stdout))

            def pause():
                time.sleep(seconds[0])

            time.sleep(5)
            before = [program.window(pause) for _ in range(o.pairs)]
            walk()
            found = windows.pairs(o.pairs, lambda is_with: program.window(walk if is_with else pause))
            program.process.kill()
            during += found
            after += list(zip(before, (without for without, _ in found)))
    turns = lambda of: of["requests"]
    print(f"during a walk {windows.text(during, turns)}, after walks {windows.text(after, turns)}; {len(walks)} walks, hooks at most {max(of['hooks']['most'] for of in walks)}, "
          f"from {walks[-1]['hot'][0]['method']}, {len(walks[-1]['levels'])} levels, {walks[-1]['levels'][0].get('reason')}")


if __name__ == "__main__":
    main()
