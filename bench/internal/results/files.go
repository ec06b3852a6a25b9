package results

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// Base is the path of a run's files without what tells their kinds apart.
func Base(folder string, began time.Time, name string) string {
	return filepath.Join(folder, began.UTC().Format("2006-01-02-1504")+"-"+name)
}

// Print prints a table and puts it into the folder of results.
func Print(folder string, began time.Time, name, table string) error {
	_, err := os.Stdout.WriteString(table)
	return errors.Join(err, os.MkdirAll(folder, 0o755), os.WriteFile(Base(folder, began, name)+".txt", []byte(table), 0o644))
}
