"""The file format: conversion of data files and index files to Arrow and back."""
