//! The encodings of names and labels.

/// The letters of one set of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameEncoding {
    /// One byte each: in the primary descriptor.
    Plain,
    /// Two bytes each, the high one first: Joliet's.
    Wide,
}

impl NameEncoding {
    pub(super) fn write(self, text: &str) -> Vec<u8> {
        match self {
            Self::Plain => text.as_bytes().to_owned(),
            Self::Wide => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        }
    }

    /// A text with spaces after it. Where half a letter is left, there is a zero.
    pub(super) fn fill(self, text: &str, length: usize) -> Vec<u8> {
        let mut bytes = self.write(text);
        let space = self.write(" ");
        while bytes.len() + space.len() <= length {
            bytes.extend(&space);
        }
        bytes.resize(length, 0);
        bytes
    }
}
