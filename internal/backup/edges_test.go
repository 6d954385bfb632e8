package backup

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestWriteBounds(t *testing.T) {
	var paths []string
	for i := range MaxFiles + 1 {
		path := filepath.Join(t.TempDir(), fmt.Sprint("file", i))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	if err := Write(io.Discard, "1.0", time.Now(), paths[:MaxFiles]); err != nil {
		t.Errorf("%d files: %v", MaxFiles, err)
	}
	if err := Write(io.Discard, "1.0", time.Now(), paths); err == nil {
		t.Errorf("%d files: no error", MaxFiles+1)
	}
}
