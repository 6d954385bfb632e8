package sakefiles

import (
	"github.com/respawnd/respawnd/internal/files"
	"github.com/respawnd/respawnd/storage"
)

// FileConfig is the part of section webservices of the configuration that is about files. The
// comment of each field explains its key.
type FileConfig struct {
	// Size of the largest file that players may upload, {range}. Those that are larger
	// get Sake-File-Result 5, as do all others that exceed a limit.
	FileSize int `key:"file_size" default:"4MiB" range:"1 to 64MiB" live:"true"`
	// Files of one profile, {range}.
	PlayerFiles int `key:"player_files" default:"64" range:"0 to 200000" live:"true"`
	// Size of all files of one profile, {range}.
	PlayerFileSize int `key:"player_file_size" default:"32MiB" range:"1 to 64GiB" live:"true"`
	// Files of all players, {range}.
	MaxFiles int `key:"max_files" default:"200000" range:"0 to 200000" live:"true"`
	// Size of the files of all players, {range}. A backup holds them, and needs as much
	// free space in the data folder while it is written.
	MaxFileSpace int `key:"max_file_space" default:"1GiB" range:"1 to 1024GiB" live:"true"`
	// Uploads at a time, {range}.
	MaxUploads int `key:"max_uploads" default:"64" range:"0 to 100000" live:"true"`
	// Uploads at a time from one address, {range}.
	MaxUploadsPerAddr int `key:"max_uploads_per_addr" default:"8" range:"1 to 100000" live:"true"`
	// Uploads without a proof, true or false. An upload only claims to be of a profile.
	// true: it is accepted. false: only if that profile is signed in from the same
	// address, or has shown a valid ticket from it within the last hour.
	UnprovedUploads bool `key:"unproved_uploads" default:"false" live:"true"`
}

// limits returns the limits of files.
func (c *FileConfig) limits() files.Limits {
	return files.Limits{
		File:   int64(c.FileSize),
		Player: storage.FileUsage{Files: c.PlayerFiles, Bytes: int64(c.PlayerFileSize)},
		Total:  storage.FileUsage{Files: c.MaxFiles, Bytes: int64(c.MaxFileSpace)},
	}
}
