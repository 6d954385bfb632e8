package nas

import (
	"fmt"
	"os"
)

// ConsoleConfig is the part of section webservices of the configuration about consoles of
// Nintendo. The comment of each field explains its key.
type ConsoleConfig struct {
	// Sign-in, connection test and downloads of DS and Wii, true or false.
	NAS bool `key:"nas" default:"true"`
	// Consoles of Nintendo that have not signed in here before, true or false. true:
	// they get an account. false: only those that have one are let in.
	NASNewConsoles bool `key:"nas_new_consoles" default:"true" live:"true"`
	// Binds the accounts of these consoles to the hardware address too, true or false.
	// false: everyone who knows the user id of a console signs in as its player, and
	// players can learn that of others. A change gives all consoles other accounts.
	NASHardware bool `key:"nas_hardware" default:"true"`
	// Folder with files that games of these consoles download, one folder below it for
	// each game, named after the game's code of four letters and digits in upper case.
	// Empty: none.
	NASDownloads string `key:"nas_downloads" as:"text" live:"true"`
}

// CheckConsoles returns the mistake in the configuration that can be found on this machine.
func (c *ConsoleConfig) CheckConsoles() error {
	if c.NASDownloads == "" {
		return nil
	}
	info, err := os.Stat(c.NASDownloads)
	if err != nil {
		return fmt.Errorf("webservices.nas_downloads: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("webservices.nas_downloads: %s is not a folder", c.NASDownloads)
	}
	return nil
}
