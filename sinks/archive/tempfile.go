package archive

import "os"

// tempFile is a temporary file that has no name any more, where the system has
// such: so it goes with the process, however that ends.
type tempFile struct{ *os.File }

func newTempFile(dir, pattern string) (*tempFile, error) {
	file, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file.Name()) // Close does it where this is refused
	return &tempFile{file}, nil
}

// Close closes the file and sees to it that it goes.
func (f *tempFile) Close() error {
	err := f.File.Close()
	_ = os.Remove(f.Name()) // gone already, as a rule
	return err
}
