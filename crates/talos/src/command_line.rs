//! The kernel command line as Talos reads it.
//!
//! [`CommandLine::parse`] splits it at blanks, quoted or not. A repeated parameter has several values; where
//! Talos wants one, it takes the first. [`CommandLine::inline`] unpacks the configurations that travel on it, [`pack`] is the
//! way there.
//!
//! Not here: the default arguments of an image ([`kernel_args`](super::kernel_args)).

use std::io::Read;

use ruzstd::decoding::StreamingDecoder;

use super::go::base64;

/// The longest command line that a kernel on x86 accepts: it silently truncates longer ones.
pub const LONGEST: usize = 2047;

/// The longest configuration that is unpacked.
const LONGEST_CONFIG: u64 = 16 << 20;

/// The compression level of a configuration: a command line has little room.
const LEVEL: i32 = 19;

/// The parameters that carry configurations, in the order Talos reads them: before the platform and after it.
pub const INLINE: [&str; 2] = ["talos.config.early", "talos.config.inline"];

/// A command line in its parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    parameters: Vec<(String, String)>,
    length: usize,
}

/// Why a configuration on a command line cannot be unpacked. Its content is not repeated: it may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InlineError {
    /// It is not base64.
    #[error("it is not base64; it may be truncated")]
    Base64,
    /// It is not zstd data.
    #[error("it is not zstd; it may be truncated")]
    Zstd,
    /// It is too long.
    #[error("it is longer than {} MiB", LONGEST_CONFIG >> 20)]
    TooLong,
}

impl CommandLine {
    /// Cuts a command line into its parameters.
    pub fn parse(text: &str) -> Self {
        let text = text.trim_end_matches(['\n', '\0']);
        let pair = |word: &str| {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            (key.to_owned(), value.to_owned())
        };
        CommandLine { parameters: text.split_whitespace().map(pair).collect(), length: text.len() }
    }

    /// A command line as a kernel truncates it: the parameters of its first [`LONGEST`] bytes. Its length is the original one.
    pub fn truncated(text: &str) -> Self {
        let text = text.trim_end_matches(['\n', '\0']);
        let end = (0..=text.len().min(LONGEST)).rfind(|end| text.is_char_boundary(*end)).unwrap_or(0);
        Self { length: text.len(), ..Self::parse(&text[..end]) }
    }

    /// The values of a parameter, in their order.
    pub fn all<'c>(&'c self, key: &'c str) -> impl Iterator<Item = &'c str> {
        self.parameters.iter().filter(move |(found, _)| found == key).map(|(_, value)| value.as_str())
    }

    /// The first value of a parameter, which is the one Talos takes.
    pub fn first(&self, key: &str) -> Option<&str> {
        self.parameters.iter().find(|(found, _)| found == key).map(|(_, value)| value.as_str())
    }

    /// The values that `talos.environment` sets a variable to, in their order.
    pub fn environment<'c>(&'c self, name: &'c str) -> impl Iterator<Item = &'c str> {
        let pairs = self.all("talos.environment").filter_map(|pair| pair.split_once('='));
        pairs.filter(move |(key, _)| *key == name).map(|(_, value)| value)
    }

    /// Its length in bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The fields of `ip=`, at each colon that is not inside of brackets.
    pub fn split_ip(value: &str) -> Vec<&str> {
        let mut depth = 0_i32;
        let fields = value.split(|letter| {
            depth += i32::from(letter == '[') - i32::from(letter == ']');
            letter == ':' && depth == 0
        });
        fields.map(|field| field.trim_matches(['[', ']'])).collect()
    }

    /// The configuration that a parameter of [`INLINE`] carries: its values joined, out of base64 and zstd.
    pub fn inline(&self, key: &str) -> Option<Result<Vec<u8>, InlineError>> {
        self.first(key)?;
        let joined: String = self.all(key).collect();
        Some(unpack(&joined))
    }
}

/// A configuration as the value of a parameter of [`INLINE`].
pub fn pack(config: &[u8]) -> String {
    base64::encode(zstd::bulk::compress(config, LEVEL).expect("there is memory for a configuration"))
}

fn unpack(text: &str) -> Result<Vec<u8>, InlineError> {
    let packed = base64::decode(text).map_err(|_| InlineError::Base64)?;
    let mut unpacked = Vec::new();
    let mut rest = packed.as_slice();
    // Several frames may follow each other.
    while !rest.is_empty() {
        let decoder = StreamingDecoder::new(&mut rest).map_err(|_| InlineError::Zstd)?;
        let left = (LONGEST_CONFIG + 1).saturating_sub(unpacked.len() as u64);
        let read = decoder.take(left).read_to_end(&mut unpacked);
        read.map_err(|_| InlineError::Zstd)?;
        if unpacked.len() as u64 > LONGEST_CONFIG {
            return Err(InlineError::TooLong);
        }
    }
    Ok(unpacked)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_value_of_a_parameter_counts() {
        let line = CommandLine::parse("talos.platform=metal quiet a=b=c talos.platform=nocloud\n");

        assert_eq!(line.first("talos.platform"), Some("metal"));
        assert_eq!(line.all("talos.platform").count(), 2);
        assert_eq!((line.first("quiet"), line.first("a"), line.first("b")), (Some(""), Some("b=c"), None));
        assert_eq!(line.length(), 55);
    }

    #[test]
    fn a_kernel_truncates_its_command_line() {
        let upto = |length: usize| format!("a={} ", "x".repeat(length - 3));
        let first = |text: &str| CommandLine::truncated(text).first("b").map(str::to_owned);

        assert_eq!(first(&(upto(LONGEST - 3) + "b=c\n")).as_deref(), Some("c"));
        assert_eq!(first(&(upto(LONGEST - 3) + "b=cd")).as_deref(), Some("c"));
        assert_eq!(first(&(upto(LONGEST - 3) + "b=ü")).as_deref(), Some(""));
        assert_eq!(first(&(upto(LONGEST) + "b=c")), None);
        assert_eq!(CommandLine::truncated(&(upto(LONGEST) + "b=c\n")).length(), LONGEST + 3);
    }

    #[test]
    fn addresses_in_brackets_keep_their_colons() {
        assert_eq!(
            CommandLine::split_ip("[2001:db8::1]::[fe80::1]:64::eth0"),
            ["2001:db8::1", "", "fe80::1", "64", "", "eth0"]
        );
        assert_eq!(CommandLine::split_ip("eth0:dhcp"), ["eth0", "dhcp"]);
    }

    #[test]
    fn a_configuration_may_span_several_parameters() {
        let packed = pack(b"machine: {}\n");
        let (one, two) = packed.split_at(8);
        let line = CommandLine::parse(&format!("talos.config.inline={one} x talos.config.inline={two}"));

        assert_eq!(line.inline("talos.config.inline"), Some(Ok(b"machine: {}\n".to_vec())));
        assert_eq!(line.inline("talos.config.early"), None);
    }

    #[test]
    fn a_value_that_cannot_be_unpacked_is_reported_without_its_text() {
        let inline = |value: &str| {
            CommandLine::parse(&format!("talos.config.early={value}")).inline("talos.config.early").unwrap()
        };

        assert_eq!(inline("hunter2!"), Err(InlineError::Base64));
        assert_eq!(inline(&base64::encode("hunter2")), Err(InlineError::Zstd));
        let bomb = vec![0; usize::try_from(LONGEST_CONFIG).unwrap() + 2];
        assert_eq!(inline(&pack(&bomb)), Err(InlineError::TooLong));
    }

    proptest! {
        #[test]
        fn a_packed_value_is_unpacked(text in "\\PC{0,200}") {
            let line = CommandLine::parse(&format!("talos.config.inline={}", pack(text.as_bytes())));

            prop_assert_eq!(line.inline("talos.config.inline"), Some(Ok(text.into_bytes())));
        }

        #[test]
        fn any_bytes_are_a_configuration_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd];
            frame.extend(bytes);
            let _ = unpack(&base64::encode(frame));
        }
    }
}
