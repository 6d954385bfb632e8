// Package backup reads and writes backups: a backup is one file with everything
// that a new machine needs to continue.
//
// The file is a tar archive. Its first entry, manifest.json, names every other
// entry with its size and SHA-256, so that a reader can check that the file is
// complete before it changes anything. The package does not know which files
// belong to a backup; the caller does.
package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Format is the version of the format written now. Read rejects higher ones.
const Format = 1

// Limits of input.
const (
	MaxFiles    = 64
	maxManifest = 64 << 10
)

const manifestName = "manifest.json"

// The errors of Read.
var (
	ErrNotBackup = errors.New("not a respawnd backup")
	ErrNewer     = errors.New("written by a newer version of respawnd")
	ErrDamaged   = errors.New("the backup is damaged")
)

// File is one file of a backup.
type File struct {
	Name   string `json:"name"` // without folder
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Manifest describes a backup.
type Manifest struct {
	Format  int       `json:"format"`
	Version string    `json:"version"` // of the program that wrote it
	Created time.Time `json:"created"`
	Files   []File    `json:"files"`
}

// Write writes a backup of the files at paths, which must not change meanwhile.
// Their names in the backup are the last elements of the paths.
func Write(w io.Writer, version string, created time.Time, paths []string) error {
	m := Manifest{Format: Format, Version: version, Created: created.UTC().Truncate(time.Second)}
	if len(paths) > MaxFiles {
		return fmt.Errorf("%d files, at most %d fit a backup", len(paths), MaxFiles)
	}
	for _, path := range paths {
		f, err := describe(path)
		if err != nil {
			return err
		}
		m.Files = append(m.Files, f)
	}
	doc, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	out := tar.NewWriter(w)
	if err := entry(out, manifestName, int64(len(doc)), m.Created, bytes.NewReader(doc)); err != nil {
		return err
	}
	for i, path := range paths {
		if err := addFile(out, path, m.Files[i], m.Created); err != nil {
			return err
		}
	}
	return out.Close()
}

func describe(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return File{filepath.Base(path), n, hex.EncodeToString(h.Sum(nil))}, err
}

func addFile(out *tar.Writer, path string, f File, created time.Time) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	return entry(out, f.Name, f.Size, created, in)
}

func entry(out *tar.Writer, name string, size int64, created time.Time, body io.Reader) error {
	h := &tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: created, Typeflag: tar.TypeReg}
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.CopyN(out, body, size)
	return err
}

// Read unpacks a backup into the folder dir, which must exist, and checks every
// file. After an error the folder may hold some of the files; the caller
// removes it. A file that allow does not accept makes the backup unknown. room,
// if not nil, is called with the total size in bytes before the first file is
// unpacked, and its error ends Read: the sizes that a backup states are not
// trusted.
func Read(r io.Reader, dir string, allow func(name string) bool, room func(bytes int64) error) (Manifest, error) {
	in := tar.NewReader(r)
	m, err := readManifest(in)
	if err != nil {
		return m, err
	}
	total := int64(0)
	for _, f := range m.Files {
		if f.Name != filepath.Base(f.Name) || f.Name == manifestName || !allow(f.Name) {
			return m, fmt.Errorf("%w: unknown file %q", ErrNotBackup, f.Name)
		}
		if f.Size < 0 || f.Size > math.MaxInt64-total {
			return m, fmt.Errorf("%w: size of %s", ErrDamaged, f.Name)
		}
		total += f.Size
	}
	if room != nil {
		if err := room(total); err != nil {
			return m, err
		}
	}
	for _, f := range m.Files {
		if err := readFile(in, dir, f); err != nil {
			return m, err
		}
	}
	if _, err := in.Next(); !errors.Is(err, io.EOF) {
		return m, fmt.Errorf("%w: more files than the manifest names", ErrDamaged)
	}
	return m, nil
}

func readManifest(in *tar.Reader) (m Manifest, err error) {
	h, err := in.Next()
	if err != nil || h.Name != manifestName || h.Size > maxManifest {
		return m, ErrNotBackup
	}
	if err := json.NewDecoder(io.LimitReader(in, maxManifest)).Decode(&m); err != nil {
		return m, fmt.Errorf("%w: manifest: %w", ErrNotBackup, err)
	}
	switch {
	case m.Format > Format:
		return m, ErrNewer
	case m.Format < 1 || len(m.Files) == 0 || len(m.Files) > MaxFiles:
		return m, ErrNotBackup
	}
	return m, nil
}

// sparse reports whether an entry may be longer than its data in the archive.
func sparse(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

func readFile(in *tar.Reader, dir string, f File) (err error) {
	h, err := in.Next()
	if err != nil || h.Name != f.Name || h.Size != f.Size || h.Typeflag != tar.TypeReg || sparse(h) {
		return fmt.Errorf("%w: %s is missing or cut", ErrDamaged, f.Name)
	}
	out, err := os.OpenFile(filepath.Join(dir, f.Name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s twice", ErrDamaged, f.Name)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	hash := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(out, hash), in, f.Size); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, f.Name, err)
	}
	if hex.EncodeToString(hash.Sum(nil)) != f.SHA256 {
		return fmt.Errorf("%w: %s does not match its checksum", ErrDamaged, f.Name)
	}
	return out.Sync()
}
