//! Reads requests: lines that are not longer than a request may be.

use std::io::{self, Read};

use control::LONGEST_REQUEST;

const CHUNK: usize = 4096;

/// What a client has sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// A line, without its end.
    Line(Vec<u8>),
    /// More than a request may have.
    TooLong,
    /// The client sends no more.
    End,
}

/// Reads the lines of one client.
#[derive(Debug)]
pub(super) struct RequestReader<R> {
    source: R,
    /// Read, but not handed out yet.
    rest: Vec<u8>,
}

impl<R: Read> RequestReader<R> {
    pub(super) fn new(source: R) -> RequestReader<R> {
        RequestReader { source, rest: Vec::new() }
    }

    /// Returns the next line. The last one needs no end.
    pub(super) fn receive(&mut self) -> io::Result<Received> {
        let mut searched = 0;
        loop {
            if let Some(end) = self.rest.iter().skip(searched).position(|byte| *byte == b'\n') {
                let after = self.rest.split_off(searched + end + 1);
                let mut line = std::mem::replace(&mut self.rest, after);
                if line.len() > LONGEST_REQUEST {
                    return Ok(Received::TooLong);
                }
                line.pop();
                return Ok(Received::Line(line));
            }
            searched = self.rest.len();
            if searched >= LONGEST_REQUEST {
                return Ok(Received::TooLong);
            }
            let mut chunk = [0; CHUNK];
            let read = self.source.read(&mut chunk)?;
            match chunk.get(..read) {
                Some(bytes) if !bytes.is_empty() => self.rest.extend_from_slice(bytes),
                _ if self.rest.is_empty() => return Ok(Received::End),
                _ => return Ok(Received::Line(std::mem::take(&mut self.rest))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(text: &[u8]) -> Vec<Received> {
        let mut reader = RequestReader::new(text);
        let mut received = Vec::new();
        loop {
            match reader.receive().unwrap() {
                Received::End => return received,
                Received::TooLong => {
                    received.push(Received::TooLong);
                    return received;
                }
                line => received.push(line),
            }
        }
    }

    #[test]
    fn lines_are_handed_out_one_by_one_up_to_the_longest_request() {
        let line = |text: &[u8]| Received::Line(text.to_vec());
        assert_eq!(read_all(b""), []);
        assert_eq!(read_all(b"a\n\nbc"), [line(b"a"), line(b""), line(b"bc")]);
        let longest = [vec![b'x'; LONGEST_REQUEST - 1], b"\ny\n".to_vec()].concat();
        assert_eq!(read_all(&longest), [line(&longest[..LONGEST_REQUEST - 1]), line(b"y")]);
        let longer = [vec![b'x'; LONGEST_REQUEST], b"\ny\n".to_vec()].concat();
        assert_eq!(read_all(&longer), [Received::TooLong]);
    }
}
