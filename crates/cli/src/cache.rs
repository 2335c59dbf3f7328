//! Assets on this machine: fetched once, complete or not at all.
//!
//! A file is fetched next to its place and moved there when it is whole and proven. What was fetched before an
//! interruption is kept and gone on from. The hash of the first download is kept beside it: from then on the file has to be that one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use ichor_system::file;
use ichor_system::lock::LockFile;
use ichor_talos::asset::Asset;
use ichor_talos::digest;
use ichor_talos::signature as magic;
use ichor_talos::signature::MagicError;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::disk::{self, WriteError};
use crate::http::{self, Client, HttpError, Response};

/// A file of the cache.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub path: PathBuf,
    pub sha256: String,
    pub length: u64,
    /// Whether it was fetched just now.
    pub fresh: bool,
    /// Whether the server published the sum it was compared with.
    pub published: bool,
}

/// An asset that could not be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("{url}: {complaint}")]
    Refused { url: String, complaint: String },
    #[error("{url} is not what it should be")]
    Wrong { url: String, source: MagicError },
    #[error("{url}: {have} of {want} bytes came; run it again to go on from there")]
    Short { url: String, have: u64, want: u64 },
    #[error("{url}: its SHA-256 is {got}, and the server publishes {want}")]
    Sum { url: String, got: String, want: String },
    #[error(
        "{url}: its SHA-256 is {got}, and {want} when it was first fetched; if that change is expected, remove {}",
        record.display()
    )]
    Changed { url: String, got: String, want: String, record: PathBuf },
    #[error("{} is being fetched by another run", path.display())]
    Busy { path: PathBuf },
    #[error("cannot write {}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Record(#[from] WriteError),
}

/// Nowhere to keep what is fetched.
#[derive(Debug, thiserror::Error)]
#[error("no home folder to keep images in; want --cache DIR")]
pub(crate) struct NoHome;

/// The user's own cache.
pub(crate) fn user() -> Result<PathBuf, NoHome> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = named("XDG_CACHE_HOME").or_else(|| named("HOME").map(|home| home.join(".cache")));
    Ok(cache.ok_or(NoHome)?.join("ichor"))
}

/// One asset on its way.
pub(crate) struct Fetch<'f> {
    pub client: &'f Client,
    pub url: &'f str,
    pub asset: &'f Asset,
    /// Where it belongs.
    pub path: PathBuf,
}

impl Fetch<'_> {
    /// Makes sure that the asset is there.
    pub(crate) fn run(&self) -> Result<Fetched, FetchError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let made: Vec<_> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
        fs::create_dir_all(folder).map_err(|source| unwritten(folder, source))?;
        let fetched = self.fetched();
        if !matches!(fetched, Ok(_) | Err(FetchError::Busy { .. })) {
            self.tidy(&made);
        }
        fetched
    }

    /// Removes what a failed fetch made and what holds nothing: an empty file, empty folders.
    fn tidy(&self, made: &[&Path]) {
        let part = self.beside("part");
        if !fs::metadata(&part).is_ok_and(|part| part.len() > 0) {
            let _ = fs::remove_file(&part);
            let _ = fs::remove_file(self.beside("part.etag"));
        }
        for folder in made {
            // Fails where there is something in it, as it should.
            let _ = fs::remove_dir(folder);
        }
    }

    fn fetched(&self) -> Result<Fetched, FetchError> {
        let known = self.known();
        if let Some(known) = &known
            && let Some(fetched) = self.present(known)?
        {
            return Ok(fetched);
        }
        let published = self.published()?;
        let part = self.beside("part");
        let mut lock = self.open(&part)?;
        let file = lock.file();
        self.download(file)?;
        let (sha256, length) = self.prove(file)?;
        if let Err(error) = self.compare(&sha256, published.as_deref(), known.as_deref()) {
            // Going on from bytes that are wrong would never end well.
            let _ = fs::remove_file(&part);
            return Err(error);
        }
        let record = json!({"sha256": sha256, "length": length, "url": http::shown(self.url)});
        disk::replace(&self.record(), format!("{record:#}\n").as_bytes())?;
        file::place(file, &part, &self.path).map_err(|error| unwritten(&error.path, error.source))?;
        let _ = fs::remove_file(self.beside("part.etag"));
        Ok(Fetched { path: self.path.clone(), sha256, length, fresh: true, published: published.is_some() })
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{ending}"));
        PathBuf::from(name)
    }

    fn record(&self) -> PathBuf {
        self.beside("sum.json")
    }

    fn shown(&self) -> String {
        http::shown(self.url)
    }

    /// The hash of the first download.
    fn known(&self) -> Option<String> {
        let record: Value = serde_json::from_slice(&fs::read(self.record()).ok()?).ok()?;
        record["sha256"].as_str().map(str::to_owned)
    }

    /// The file, if it is there and still what was fetched.
    fn present(&self, known: &str) -> Result<Option<Fetched>, FetchError> {
        let Ok(mut file) = File::open(&self.path) else { return Ok(None) };
        let (sha256, length) = sum(&mut file).map_err(|source| unwritten(&self.path, source))?;
        let path = self.path.clone();
        let fetched = Fetched { path, sha256, length, fresh: false, published: false };
        Ok((fetched.sha256 == known).then_some(fetched))
    }

    /// The sum the server publishes: the paid factory does, the public one answers 402.
    fn published(&self) -> Result<Option<String>, FetchError> {
        let url = format!("{}.sha256", self.url);
        let response = self.client.get(&url, &[])?;
        if response.status() != 200 {
            return Ok(None);
        }
        let text = response.text()?;
        let sum = text.split_whitespace().next().unwrap_or_default().to_lowercase();
        Ok((sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(sum))
    }

    fn open(&self, part: &Path) -> Result<LockFile, FetchError> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(part);
        let file = file.map_err(|source| unwritten(part, source))?;
        let lock = LockFile::try_file(file, part).map_err(|error| unwritten(part, error.source))?;
        lock.ok_or_else(|| FetchError::Busy { path: self.path.clone() })
    }

    /// Gets what is missing.
    fn download(&self, file: &mut File) -> Result<(), FetchError> {
        let part = self.beside("part");
        let failed = |source| unwritten(&part, source);
        let have = file.seek(SeekFrom::End(0)).map_err(failed)?;
        let etag = fs::read_to_string(self.beside("part.etag")).unwrap_or_default();
        let range = format!("bytes={have}-");
        let mut headers = Vec::new();
        if have > 0 {
            headers.push(("range", range.as_str()));
            if !etag.is_empty() {
                headers.push(("if-range", etag.as_str()));
            }
        }
        let mut response = self.client.get(self.url, &headers)?;
        if response.status() == 416 {
            response = self.client.get(self.url, &[])?;
        }
        let from = match response.status().as_u16() {
            206 if resumes_at(&response) == Some(have) => have,
            200 => 0,
            _ => {
                let complaint = response.complaint();
                return Err(FetchError::Refused { url: self.shown(), complaint });
            }
        };
        file.set_len(from).map_err(failed)?;
        file.seek(SeekFrom::Start(from)).map_err(failed)?;
        if let Some(etag) = response.header("etag").filter(|etag| !etag.starts_with("W/")) {
            disk::replace(&self.beside("part.etag"), etag.as_bytes())?;
        }
        self.pour(response, file, from)
    }

    fn pour(&self, response: Response, file: &mut File, from: u64) -> Result<(), FetchError> {
        let want =
            response.header("content-length").and_then(|text| text.parse().ok()).map(|more: u64| from + more);
        let bar = progress(&self.path, want, from);
        let mut body = response.into_reader();
        let mut buffer = vec![0; 256 << 10];
        let mut have = from;
        loop {
            match body.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    let part = self.beside("part");
                    file.write_all(&buffer[..count]).map_err(|source| unwritten(&part, source))?;
                    have += count as u64;
                    bar.set_position(have);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // What came is kept; without a length nobody knows how much is missing.
                Err(_) => {
                    return Err(FetchError::Short {
                        url: self.shown(),
                        have,
                        want: want.unwrap_or(have + 1),
                    });
                }
            }
        }
        bar.finish_and_clear();
        match want {
            Some(want) if want != have => Err(FetchError::Short { url: self.shown(), have, want }),
            _ => Ok(()),
        }
    }

    /// The file's sum and length, once it looks like what it should be.
    fn prove(&self, file: &mut File) -> Result<(String, u64), FetchError> {
        let part = self.beside("part");
        let failed = |source| unwritten(&part, source);
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut head = Vec::with_capacity(magic::HEAD);
        Read::by_ref(file).take(magic::HEAD as u64).read_to_end(&mut head).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        if let Err(source) = magic::check(self.asset, &head, length) {
            let _ = fs::remove_file(&part);
            return Err(FetchError::Wrong { url: self.shown(), source });
        }
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        sum(file).map_err(failed)
    }

    fn compare(&self, got: &str, published: Option<&str>, known: Option<&str>) -> Result<(), FetchError> {
        let (url, got) = (self.shown(), got.to_owned());
        match (published, known) {
            (Some(want), _) if want != got => Err(FetchError::Sum { url, got, want: want.to_owned() }),
            (None, Some(want)) if want != got => {
                Err(FetchError::Changed { url, got, want: want.to_owned(), record: self.record() })
            }
            _ => Ok(()),
        }
    }
}

fn unwritten(path: &Path, source: io::Error) -> FetchError {
    FetchError::File { path: path.to_owned(), source }
}

/// Where an answer to a range starts.
fn resumes_at(response: &Response) -> Option<u64> {
    response.header("content-range")?.strip_prefix("bytes ")?.split('-').next()?.parse().ok()
}

fn sum(file: &mut File) -> io::Result<(String, u64)> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 256 << 10];
    let mut length = 0;
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok((digest::hex(&hasher.finalize()), length));
        }
        hasher.update(&buffer[..count]);
        length += count as u64;
    }
}

/// A bar on a terminal, and nothing anywhere else.
fn progress(path: &Path, want: Option<u64>, from: u64) -> ProgressBar {
    let bar = want.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    let template = "{msg}  {bar:24}  {bytes} of {total_bytes}  {bytes_per_sec}  {eta} left";
    if let Ok(style) = ProgressStyle::with_template(if want.is_some() { template } else { "{msg}  {bytes}" })
    {
        bar.set_style(style);
    }
    bar.set_message(path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default());
    bar.set_position(from);
    bar.reset_eta();
    bar
}
