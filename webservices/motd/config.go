package motd

import (
	"fmt"

	"github.com/respawnd/respawnd/storage"
)

// NewsConfig is the part of section webservices of the configuration about news. The
// comment of each field explains its key.
type NewsConfig struct {
	// Message of the day for games that have none of `respawnd motd set`, at most 2047
	// bytes without a backslash. Most games do not show it.
	Motd string `key:"motd" as:"text" live:"true"`
	// Patches that are announced to games at their start, beside those of `respawnd patch
	// add`: a list, at most 256 entries; in the environment, the same as one line of
	// YAML. An entry has product and version, as the outdated game sends them
	// (`respawnd patch list` shows the values that games send), name of the newer version, file
	// (a number for a mirror list), url and lockout, true or false (the game must
	// not be played online without it):
	//   - {product: 10001, version: "1.0", name: "1.1", url: "http://a.example/b"}
	Patches []Patch `key:"patches" live:"true"`
}

// Patch is an entry of NewsConfig.Patches.
type Patch struct {
	Product int    `yaml:"product"`
	Version string `yaml:"version"`
	Name    string `yaml:"name"`
	File    int    `yaml:"file"`
	URL     string `yaml:"url"`
	Lockout bool   `yaml:"lockout"`
}

// record returns the entry as a record of the store.
func (p *Patch) record() storage.Patch {
	return storage.Patch{
		PatchID: storage.PatchID{Product: p.Product, Version: p.Version}, Name: p.Name, File: p.File, URL: p.URL, Lockout: p.Lockout,
	}
}

// CheckEntry implements configs.Entry.
func (p *Patch) CheckEntry() error {
	_, err := p.record().Canonical()
	return err
}

// CheckNews returns the mistake in the texts of the configuration.
func (c *NewsConfig) CheckNews() error {
	if err := storage.CheckMotdText(c.Motd); err != nil {
		return fmt.Errorf("webservices.motd: %w", err)
	}
	return nil
}

// Records returns the patches as records of the store.
func (c *NewsConfig) Records() []storage.Patch {
	all := make([]storage.Patch, 0, len(c.Patches))
	for i := range c.Patches {
		all = append(all, c.Patches[i].record())
	}
	return all
}
