// Package serverbrowse answers server browsers.
package serverbrowse
