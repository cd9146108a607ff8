"""The one thing that pyproject.toml cannot say: loops in C, wherever they compile."""

import shutil
import sysconfig

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))

# Roots of vectors are computed without a look at errno, which is never asked for.
FLAGS = ["-O3", "-fno-math-errno"]


class BuildLoops(build_ext):
    """Compiles by clang on Windows: Microsoft's compiler has no vector types."""

    def build_extensions(self):
        """Choose the compiler, then build as usual."""
        if self.compiler.compiler_type == "msvc":
            clang = shutil.which("clang-cl")
            if clang is None:
                self.warn("clang-cl is not there: the loops in C are left out.")
                self.extensions = []
                return
            self.compiler.initialize()
            self.compiler.cc = clang
            for extension in self.extensions:
                extension.extra_compile_args = [f"/clang:{flag}" for flag in FLAGS]
        super().build_extensions()


setup(
    cmdclass={"build_ext": BuildLoops},
    ext_modules=[
        Extension(
            "patchfold.backends.native._loops",
            [
                f"src/patchfold/backends/native/{name}.c"
                for name in (
                    "loops",
                    "call",
                    "neighbors",
                    "search",
                    "patches",
                    "class_patches",
                    "dissimilarity",
                    "directions",
                    "graph",
                    "paths",
                    "path_groups",
                    "eigenvectors",
                    "field",
                    "pulls",
                )
            ],
            depends=["src/patchfold/backends/native/loops.h"],
            extra_compile_args=FLAGS,
            define_macros=[("Py_GIL_DISABLED", "1")] if FREE_THREADED else [],
            py_limited_api=not FREE_THREADED,
            optional=True,  # `backends/native` has arrays in their place
        )
    ],
    options={} if FREE_THREADED else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
