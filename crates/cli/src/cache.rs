//! Cache of downloaded assets: each is downloaded once, and complete or missing.
//!
//! A file is downloaded to a temporary file and renamed once it is complete and verified. An interrupted download
//! is resumed. The hash of the first download is recorded: later downloads must match it.

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
use crate::http::{self, HttpClient, HttpError, HttpResponse};

/// A cached file.
#[derive(Debug)]
pub(crate) struct CachedAsset {
    pub path: PathBuf,
    pub sha256: String,
    pub length: u64,
    /// Downloaded by this run.
    pub fresh: bool,
    /// Verified with a checksum published by the server.
    pub published: bool,
}

/// Errors of fetching an asset.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("{url}: {complaint}")]
    Refused { url: String, complaint: String },
    #[error("{url} has unexpected contents")]
    Wrong { url: String, source: MagicError },
    #[error("{url}: received {have} of {want} bytes; run the command again to resume")]
    Short { url: String, have: u64, want: u64 },
    #[error("{url}: SHA-256 is {got}, but the server publishes {want}")]
    Sum { url: String, got: String, want: String },
    #[error(
        "{url}: SHA-256 is {got}, but was {want} at the first download; if the change is expected, delete {}",
        record.display()
    )]
    Changed { url: String, got: String, want: String, record: PathBuf },
    #[error("{} is being downloaded by another process", path.display())]
    Busy { path: PathBuf },
    #[error("cannot write {}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Record(#[from] WriteError),
}

/// No folder for the cache is known.
#[derive(Debug, thiserror::Error)]
#[error("no cache folder: XDG_CACHE_HOME and HOME are not set; set --cache DIR")]
pub(crate) struct NoHomeError;

/// Path of the user's cache.
pub(crate) fn user_cache() -> Result<PathBuf, NoHomeError> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = named("XDG_CACHE_HOME").or_else(|| named("HOME").map(|home| home.join(".cache")));
    Ok(cache.ok_or(NoHomeError)?.join("ichor"))
}

/// A download of an asset.
pub(crate) struct AssetFetch<'f> {
    pub client: &'f HttpClient,
    pub url: &'f str,
    pub asset: &'f Asset,
    /// Destination.
    pub path: PathBuf,
}

impl AssetFetch<'_> {
    /// Downloads the asset unless it is cached.
    pub(crate) fn run(&self) -> Result<CachedAsset, FetchError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let made: Vec<_> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
        fs::create_dir_all(folder).map_err(|source| file_error(folder, source))?;
        let fetched = self.fetch_or_reuse();
        if !matches!(fetched, Ok(_) | Err(FetchError::Busy { .. })) {
            self.remove_leftovers(&made);
        }
        fetched
    }

    /// Removes the empty file and folders of a failed download.
    fn remove_leftovers(&self, made: &[&Path]) {
        let part = self.sidecar("part");
        if !fs::metadata(&part).is_ok_and(|part| part.len() > 0) {
            let _ = fs::remove_file(&part);
            let _ = fs::remove_file(self.sidecar("part.etag"));
        }
        for folder in made {
            // Fails for a folder that is not empty, as intended.
            let _ = fs::remove_dir(folder);
        }
    }

    fn fetch_or_reuse(&self) -> Result<CachedAsset, FetchError> {
        let known = self.recorded_sha256();
        if let Some(known) = &known
            && let Some(fetched) = self.reuse(known)?
        {
            return Ok(fetched);
        }
        let published = self.published_sha256()?;
        let part = self.sidecar("part");
        let mut lock = self.open(&part)?;
        let file = lock.file();
        self.download(file)?;
        let (sha256, length) = self.verify(file)?;
        if let Err(error) = self.compare(&sha256, published.as_deref(), known.as_deref()) {
            // Wrong contents must not be resumed.
            let _ = fs::remove_file(&part);
            return Err(error);
        }
        let record = json!({"sha256": sha256, "size_bytes": length, "url": http::redact_url(self.url)});
        disk::replace(&self.record(), format!("{record:#}\n").as_bytes())?;
        file::place_file(file, &part, &self.path).map_err(|error| file_error(&error.path, error.source))?;
        let _ = fs::remove_file(self.sidecar("part.etag"));
        Ok(CachedAsset {
            path: self.path.clone(),
            sha256,
            length,
            fresh: true,
            published: published.is_some(),
        })
    }

    fn sidecar(&self, ending: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{ending}"));
        PathBuf::from(name)
    }

    fn record(&self) -> PathBuf {
        self.sidecar("sum.json")
    }

    fn redact_url(&self) -> String {
        http::redact_url(self.url)
    }

    /// Recorded hash of the first download.
    fn recorded_sha256(&self) -> Option<String> {
        let record: Value = serde_json::from_slice(&fs::read(self.record()).ok()?).ok()?;
        record["sha256"].as_str().map(str::to_owned)
    }

    /// The cached file, if it exists and matches the recorded hash.
    fn reuse(&self, known: &str) -> Result<Option<CachedAsset>, FetchError> {
        let Ok(mut file) = File::open(&self.path) else { return Ok(None) };
        let (sha256, length) = sha256_of(&mut file).map_err(|source| file_error(&self.path, source))?;
        let path = self.path.clone();
        let fetched = CachedAsset { path, sha256, length, fresh: false, published: false };
        Ok((fetched.sha256 == known).then_some(fetched))
    }

    /// Checksum published by the server: enterprise factories publish it, the public one answers 402.
    fn published_sha256(&self) -> Result<Option<String>, FetchError> {
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
        let file = file.map_err(|source| file_error(part, source))?;
        let lock = LockFile::try_file(file, part).map_err(|error| file_error(part, error.source))?;
        lock.ok_or_else(|| FetchError::Busy { path: self.path.clone() })
    }

    /// Downloads the missing part.
    fn download(&self, file: &mut File) -> Result<(), FetchError> {
        let part = self.sidecar("part");
        let failed = |source| file_error(&part, source);
        let have = file.seek(SeekFrom::End(0)).map_err(failed)?;
        let etag = fs::read_to_string(self.sidecar("part.etag")).unwrap_or_default();
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
                let complaint = response.error_summary();
                return Err(FetchError::Refused { url: self.redact_url(), complaint });
            }
        };
        file.set_len(from).map_err(failed)?;
        file.seek(SeekFrom::Start(from)).map_err(failed)?;
        if let Some(etag) = response.header("etag").filter(|etag| !etag.starts_with("W/")) {
            disk::replace(&self.sidecar("part.etag"), etag.as_bytes())?;
        }
        self.write_body(response, file, from)
    }

    fn write_body(&self, response: HttpResponse, file: &mut File, from: u64) -> Result<(), FetchError> {
        let want =
            response.header("content-length").and_then(|text| text.parse().ok()).map(|more: u64| from + more);
        let bar = progress_bar(&self.path, want, from);
        let mut body = response.into_reader();
        let mut buffer = vec![0; 256 << 10];
        let mut have = from;
        loop {
            match body.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    let part = self.sidecar("part");
                    file.write_all(&buffer[..count]).map_err(|source| file_error(&part, source))?;
                    have += count as u64;
                    bar.set_position(have);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Received bytes are kept. Without a length the missing size is unknown.
                Err(_) => {
                    return Err(FetchError::Short {
                        url: self.redact_url(),
                        have,
                        want: want.unwrap_or(have + 1),
                    });
                }
            }
        }
        bar.finish_and_clear();
        match want {
            Some(want) if want != have => Err(FetchError::Short { url: self.redact_url(), have, want }),
            _ => Ok(()),
        }
    }

    /// Checks the file signature, and returns hash and length.
    fn verify(&self, file: &mut File) -> Result<(String, u64), FetchError> {
        let part = self.sidecar("part");
        let failed = |source| file_error(&part, source);
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut head = Vec::with_capacity(magic::HEAD);
        Read::by_ref(file).take(magic::HEAD as u64).read_to_end(&mut head).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        if let Err(source) = magic::check(self.asset, &head, length) {
            let _ = fs::remove_file(&part);
            return Err(FetchError::Wrong { url: self.redact_url(), source });
        }
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        sha256_of(file).map_err(failed)
    }

    fn compare(&self, got: &str, published: Option<&str>, known: Option<&str>) -> Result<(), FetchError> {
        let (url, got) = (self.redact_url(), got.to_owned());
        match (published, known) {
            (Some(want), _) if want != got => Err(FetchError::Sum { url, got, want: want.to_owned() }),
            (None, Some(want)) if want != got => {
                Err(FetchError::Changed { url, got, want: want.to_owned(), record: self.record() })
            }
            _ => Ok(()),
        }
    }
}

fn file_error(path: &Path, source: io::Error) -> FetchError {
    FetchError::File { path: path.to_owned(), source }
}

/// Start offset of a range response.
fn resumes_at(response: &HttpResponse) -> Option<u64> {
    response.header("content-range")?.strip_prefix("bytes ")?.split('-').next()?.parse().ok()
}

fn sha256_of(file: &mut File) -> io::Result<(String, u64)> {
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

/// A progress bar on a terminal; nothing elsewhere.
fn progress_bar(path: &Path, want: Option<u64>, from: u64) -> ProgressBar {
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
