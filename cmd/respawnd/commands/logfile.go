package commands

import (
	"errors"
	"os"
)

// maxLogFile is the length at which a logFile begins again.
const maxLogFile = 10 << 20

// A logFile is a log of a process that has no standard error. When it is long it becomes PATH.old,
// in place of the one before, so that a log never fills a disk. It is for one writer at a time.
type logFile struct {
	path string
	file *os.File
	size int64
}

func openLog(path string) (*logFile, error) {
	l := &logFile{path: path}
	return l, l.open()
}

func (l *logFile) open() error {
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Write appends a line.
func (l *logFile) Write(line []byte) (int, error) {
	if l.size > 0 && l.size+int64(len(line)) > maxLogFile {
		_ = errors.Join(l.file.Close(), os.Rename(l.path, l.path+".old")) // without it the file grows, until it is as long again
		if err := l.open(); err != nil {
			return 0, err
		}
		l.size = 0
	}
	n, err := l.file.Write(line)
	l.size += int64(n)
	return n, err
}

func (l *logFile) Close() error { return l.file.Close() }
