"""The one thing that pyproject.toml cannot say: loops in C, wherever they compile."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "patchfold._loops",
            ["src/patchfold/_loops.c"],
            extra_compile_args=["-O3"],
            py_limited_api=True,
            optional=True,  # `_native.py` has arrays in their place
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
