package nas

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// listName is the name of the file that describes the others of its folder.
const listName = "_list.txt"

// Bounds of a folder.
const (
	maxListSize = 256 << 10 // bytes of listName
	maxListLine = 512       // bytes of a line
	maxFiles    = 2000
	maxFileName = 64
	maxFileSize = 16 << 20
)

// errList reports a list beyond the bounds.
var errList = errors.New("it has more than 2000 files, lines over 512 bytes, or more than 256 KiB")

// listed is a file in a list: its line, without its end.
type listed string

// attributes is the number of the first attribute in a line.
const attributes = 2

// has reports whether the file has the attributes that are not empty.
func (l listed) has(wanted [3]string) bool {
	fields := strings.Split(string(l), "\t")
	for i, w := range wanted {
		if w != "" && (len(fields) <= attributes+i || fields[attributes+i] != w) {
			return false
		}
	}
	return true
}

// parseList reads a list. Empty lines are left out.
func parseList(b []byte) (list []listed, err error) {
	for line := range bytes.Lines(bytes.TrimPrefix(b, []byte("\xEF\xBB\xBF"))) {
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case len(line) == 0:
		case len(line) > maxListLine || len(list) == maxFiles:
			return nil, errList
		default:
			list = append(list, listed(line))
		}
	}
	return list, nil
}

func appendList(b []byte, list []listed) []byte {
	for _, l := range list {
		b = append(append(b, l...), "\r\n"...)
	}
	if len(list) == 0 {
		b = append(b, "\r\n"...)
	}
	return b
}

// errFolder reports that the folder of all files cannot be opened.
var errFolder = errors.New("webservices.nas_downloads")

// openFolder opens the first folder of the games that exists. fs.ErrNotExist: none does.
func openFolder(path string, games ...string) (*os.Root, error) {
	if path == "" {
		return nil, fs.ErrNotExist
	}
	root, err := os.OpenRoot(path)
	if err != nil { // unlike a game without a folder, this is a fault
		return nil, errors.Join(errFolder, errors.New(err.Error()))
	}
	defer func() { _ = root.Close() }()
	for _, g := range games {
		folder, err := root.OpenRoot(strings.ToUpper(g))
		if !errors.Is(err, fs.ErrNotExist) {
			return folder, err
		}
	}
	return nil, fs.ErrNotExist
}

func readFolder(folder *os.Root) ([]listed, error) {
	f, size, err := openFile(folder, listName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return scanFolder(folder)
	case err != nil:
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if size > maxListSize {
		return nil, errList
	}
	b, err := io.ReadAll(io.LimitReader(f, maxListSize))
	if err != nil {
		return nil, err
	}
	return parseList(b)
}

// scanFolder lists the files of a folder that can be downloaded.
func scanFolder(folder *os.Root) (list []listed, err error) {
	dir, err := folder.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	entries, err := dir.ReadDir(maxFiles + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) > maxFiles {
		return nil, errList
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && e.Type().IsRegular() && isFileName(e.Name()) && info.Size() <= maxFileSize {
			list = append(list, listed(e.Name()+strings.Repeat("\t", attributes+3)+strconv.FormatInt(info.Size(), 10)))
		}
	}
	slices.Sort(list)
	return list, nil
}

// openFile opens a regular file of a folder and returns its size.
func openFile(folder *os.Root, name string) (*os.File, int64, error) {
	// Before it is opened: a pipe would wait for its other end.
	if info, err := folder.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil, 0, errors.Join(err, fs.ErrNotExist)
	}
	f, err := folder.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// isFileName reports whether a text can be the name of a file that is downloaded. On no
// system does such a name lead to another folder or to a device.
func isFileName(s string) bool {
	if s == "" || len(s) > maxFileName || strings.IndexByte("._ ", s[0]) >= 0 || strings.HasSuffix(s, ".") || strings.HasSuffix(s, " ") {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool { return !isAlnum(c) && !strings.ContainsRune("._- +()[]!#$&'@^,;={}", c) })
}
