#!/usr/bin/env python3
"""Insert and repair, one place after the other, beside the engine, which lays a method out once: CPU and passes a method, same classes."""
import argparse
import subprocess

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--program", required=True, help="the built example `insert_and_repair`")
parser.add_argument("--java", required=True, help="the JDK whose java.base is rewritten")
parser.add_argument("jars", nargs="*", help="jars or directories")
options = parser.parse_args()
subprocess.run([options.program, "--jdk", options.java, *options.jars], check=True)
