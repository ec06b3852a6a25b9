module github.com/ottla/ottla/compat-tests/cells

go 1.26
