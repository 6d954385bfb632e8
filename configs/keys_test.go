package configs

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDefaults(t *testing.T) {
	type section struct {
		Listen  string        `key:"listen" default:":1" listen:"udp 1"`
		Buffer  int           `key:"buffer" default:"4KiB" range:"1KiB to 1GiB"`
		Timeout time.Duration `key:"timeout" default:"15m" range:"6m to 24h"`
		Allow   []string      `key:"allow" default:"lan,local" as:"domain"`
		None    []string      `key:"none" as:"domain"`
		On      bool          `key:"on" default:"true"`
	}
	want := section{Listen: ":1", Buffer: 4096, Timeout: 15 * time.Minute, Allow: []string{"lan", "local"}, On: true}

	t.Run("section", func(t *testing.T) {
		var got section
		Defaults(&got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Defaults (-want +got):\n%s", diff)
		}
	})
	t.Run("whole", func(t *testing.T) {
		type config struct {
			Example section `key:"example"`
		}
		var got config
		Defaults(&got)
		if diff := cmp.Diff(config{want}, got); diff != "" {
			t.Errorf("Defaults (-want +got):\n%s", diff)
		}
	})
	t.Run("bad tag", func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("Defaults did not panic")
			}
		}()
		Defaults(&struct {
			Count int `key:"count" default:"9" range:"1 to 8"`
		}{})
	})
}
