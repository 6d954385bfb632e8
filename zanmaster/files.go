package zanmaster

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// The files of rules, under the names and in the syntax of the original master.
const (
	BanFile         = "banlist.txt"               // may neither play nor ask for lists nor be listed
	ExemptFile      = "whitelist.txt"             // bans and blocks do not concern them
	BlockFile       = "blocklist.txt"             // may not be listed
	MultiServerFile = "multiserver_whitelist.txt" // may have any number of servers
)

// FileNames returns the names of all of them.
func FileNames() []string { return []string{BanFile, ExemptFile, BlockFile, MultiServerFile} }

const (
	maxFile     = 16 << 20 // bytes
	maxProblems = 20       // bad lines of one file that are named
)

// ruleFile is one of the files as it was last read. The goroutine that holds
// Server.reading uses it.
type ruleFile struct {
	name, path string
	stamp      stamp
	set        *ruleSet
}

// stamp reports whether a file has changed.
type stamp struct {
	modified time.Time
	size     int64
}

func stampOf(path string) (stamp, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return stamp{}, nil
	case err != nil:
		return stamp{}, err
	}
	return stamp{info.ModTime(), info.Size()}, nil
}

func newRuleFile(dir, name string) *ruleFile {
	f := &ruleFile{name: name, set: newRuleSet(nil)}
	if dir != "" {
		f.path = filepath.Join(dir, name)
	}
	return f
}

// changed reports whether the file looks different from when it was read.
func (f *ruleFile) changed() bool {
	if f.path == "" {
		return false
	}
	now, err := stampOf(f.path)
	return err == nil && now != f.stamp
}

// read reads the file. One that does not exist has no rules. Lines that are
// wrong are left out and named in the error; if the file cannot be read the
// rules stay as they were.
func (f *ruleFile) read() error {
	if f.path == "" {
		return nil
	}
	at, err := stampOf(f.path)
	if err != nil {
		return err
	}
	f.stamp = at // also if reading fails: it is tried again when the file changes
	data, err := readAtMost(f.path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = nil, nil
	}
	if err != nil {
		return err
	}
	rules, err := parseRules(f.path, data)
	f.set = newRuleSet(rules)
	return err
}

// checkFiles reads the ban files of a directory as Serve does and returns their
// errors, every bad line with file and line.
func checkFiles(dir string) error {
	var errs []error
	for _, name := range FileNames() {
		errs = append(errs, newRuleFile(dir, name).read())
	}
	return errors.Join(errs...)
}

// checkReadable returns the ban files of a directory that cannot be read. Missing
// files and invalid lines are not errors here: Reload skips both.
func checkReadable(dir string) error {
	var errs []error
	for _, name := range FileNames() {
		if _, err := readAtMost(filepath.Join(dir, name), maxFile); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func readAtMost(path string, most int64) (data []byte, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data, err = io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s: larger than %d bytes", path, most)
	}
	return data, err
}

// parseRules reads the lines of a file. The error joins one for every bad line,
// up to a bound, each with file and line.
func parseRules(path string, data []byte) (rules []rule, err error) {
	var problems []error
	bad := 0
	lines := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))))
	lines.Buffer(nil, maxFile+1)
	for n := 1; lines.Scan(); n++ {
		r, ok, err := rule{}, false, errTooLong
		if line := lines.Bytes(); len(line) <= maxLine {
			r, ok, err = parseRule(string(line))
		}
		if ok && len(rules) == maxRules {
			err = errTooManyRules
		}
		if err != nil {
			if bad++; bad <= maxProblems {
				problems = append(problems, fmt.Errorf("%s:%d: %w", path, n, err))
			}
			continue
		}
		if ok {
			r.line = n
			rules = append(rules, r)
		}
	}
	if bad > maxProblems {
		problems = append(problems, fmt.Errorf("%s: %d more bad lines", path, bad-maxProblems))
	}
	return rules, errors.Join(append(problems, lines.Err())...)
}
