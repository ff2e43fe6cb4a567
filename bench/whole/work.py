# What Jython runs in bench/whole.py: strings, dictionaries, objects, exceptions, a generator, regular expressions.
import re
import sys


class Account(object):
    def __init__(self, number):
        self.number = number
        self.balance = 0

    def move(self, amount):
        if self.balance + amount < -500:
            raise ValueError("account %d is short of %d" % (self.number, amount))
        self.balance += amount


def amounts(count):
    state = 12345
    for _ in range(count):
        state = (state * 1103515245 + 12345) % 2147483648
        yield state


def transfers(rounds):
    accounts = [Account(number) for number in range(97)]
    refused = 0
    for amount in amounts(rounds):
        try:
            accounts[amount % 97].move(amount % 301 - 150)
        except ValueError:
            refused += 1
    return refused, sum(account.balance for account in accounts)


def words(rounds):
    text = " ".join("word%d, %x." % (number % 89, number) for number in amounts(400))
    counts = {}
    for _ in range(rounds):
        for word in re.findall(r"[a-z]+\d+", text):
            counts[word] = counts.get(word, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:3]


def queens(size, columns=()):
    row = len(columns)
    if row == size:
        return 1
    return sum(queens(size, columns + (column,)) for column in range(size)
               if all(column != other and abs(column - other) != row - line for line, other in enumerate(columns)))


scale = int(sys.argv[1])
print("RESULT jython %s %s %s" % (transfers(30000 * scale), words(40 * scale), queens(8)))
