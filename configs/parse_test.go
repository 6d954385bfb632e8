package configs

import (
	"testing"
	"time"
)

func TestSizes(t *testing.T) {
	tests := map[string]struct {
		text string
		want int // -1: refused
	}{
		"plain bytes":          {"65536", 65536},
		"bytes with unit":      {"65536B", 65536},
		"KiB":                  {"512KiB", 512 << 10},
		"MiB":                  {"4MiB", 4 << 20},
		"GiB":                  {"1GiB", 1 << 30},
		"lower case, a space":  {" 4 mib ", 4 << 20},
		"ambiguous kB":         {"512kB", -1},
		"ambiguous M":          {"4M", -1},
		"fraction":             {"1.5MiB", -1},
		"sign":                 {"-4KiB", -1},
		"unit alone":           {"MiB", -1},
		"empty":                {"", -1},
		"overflows when times": {"18014398509481985KiB", -1},
		"overflows by itself":  {"99999999999999999999", -1},
		"letters":              {"much", -1},
		"two units":            {"4KiBMiB", -1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parseSize(test.text, 4*kib, gib)
			if err != nil {
				got = -1
			}
			if got != test.want {
				t.Errorf("parseSize(%q) = %d, %v, want %d", test.text, got, err, test.want)
			}
		})
	}
}

func TestSizesAndDurationsRoundTrip(t *testing.T) {
	for n, want := range map[int]string{0: "0", 1: "1", 4095: "4095", 4096: "4KiB", 3 << 20: "3MiB", 1<<20 + 1024: "1025KiB", 1 << 30: "1GiB"} {
		if got := formatSize(n); got != want {
			t.Errorf("formatSize(%d) = %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", 10 * time.Second: "10s", time.Minute: "1m", 10 * time.Minute: "10m", time.Hour: "1h",
		24 * time.Hour: "24h", 90 * time.Second: "1m30s", time.Hour + time.Second: "1h0m1s", 10 * time.Hour: "10h",
	} {
		if got := formatDuration(d); got != want {
			t.Errorf("formatDuration(%d) = %q, want %q", d, got, want)
		}
	}
}
